//! The cut of all contexts, the front's tables in the image, save and load.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hesper_image::{ContextEntry, Extent, SealedExtent, Superblock, decode_record, encode_record};
use hesper_log::Guest;
use hesper_worker::channel::{Area, CutError, CutReport, FromWorker, ToWorker};
use serde::{Deserialize, Serialize};

use crate::arena::{ArenaState, Held};
use crate::context::{Leaving, lock};
use crate::front::{Deadline, Front, end};
use crate::resources::Resource;
use crate::{ContextEvent, FrontError};

/// How much longer than its gate a worker may take for the whole cut.
const CUT_GRACE: Duration = Duration::from_secs(10);
/// How long the restore of one context may take.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(60);
/// Largest table of the front, bytes.
const TABLES_MAX: u64 = 16 << 20;
/// Kind and version of the record that holds the tables.
const TABLES_KIND: u32 = u32::from_le_bytes(*b"FRNT");
const TABLES_VERSION: u32 = 2;
/// Kind and version of what travels in the device state.
const SAVE_KIND: u32 = u32::from_le_bytes(*b"SAVE");
const SAVE_VERSION: u32 = 1;

/// The front's tables.
#[derive(Debug, Serialize, Deserialize)]
struct Tables {
    held: Held,
    resources: BTreeMap<u32, Extent>,
    /// Ranges that each context's worker holds.
    ranges: BTreeMap<u32, Vec<(Area, Extent)>>,
    /// The number of each context's next request.
    requests: BTreeMap<u32, u64>,
    /// Ranges of resources that are gone but were not left by all workers.
    leaving: Vec<LeavingRange>,
    device: Vec<u8>,
}

/// A range that is held until workers have left it.
#[derive(Debug, Serialize, Deserialize)]
struct LeavingRange {
    extent: Extent,
    /// Contexts whose workers were told, and by which request.
    told: Vec<(u32, u64)>,
}

/// What QEMU carries as device state: enough to know that the image in the arena is the one.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    sequence: u64,
    arena_len: u64,
    window_len: u64,
}

/// Figures of one cut.
#[derive(Clone, Debug, Default)]
pub struct CutFigures {
    /// Sequence of the superblock.
    pub sequence: u64,
    /// The longest gate of a context.
    pub gate: Duration,
    /// Everything, from the request to the superblock.
    pub pause: Duration,
    /// Bytes drained for the cut.
    pub drained_bytes: u64,
    /// Pages that had changed.
    pub pages_moved: u64,
}

impl Front {
    /// Gate and cut of every context, then the superblock. Nothing runs until [`Front::resume`],
    /// which the caller also calls after an error.
    ///
    /// # Errors
    /// [`FrontError::Hung`] at once when submitted work does not finish; what a worker reported.
    pub fn quiesce(
        &self,
        device_tables: &[u8],
        deadline: Duration,
    ) -> Result<CutFigures, FrontError> {
        let started = Instant::now();
        let reports = self.cut_all(deadline)?;
        let mut figures = CutFigures::default();
        for (_, report) in &reports {
            figures.gate = figures.gate.max(report.gate);
            figures.drained_bytes += report.drained_bytes;
            figures.pages_moved += report.pages_moved;
        }
        figures.sequence = self.write_superblock(device_tables, &reports)?;
        figures.pause = started.elapsed();
        tracing::debug!(?figures, "Cut");
        self.emit(ContextEvent::Cut {
            figures: figures.clone(),
        });
        Ok(figures)
    }

    fn cut_all(&self, deadline: Duration) -> Result<Vec<(u32, CutReport)>, FrontError> {
        let contexts: Vec<_> = lock(&self.shared.contexts)
            .values()
            .filter(|context| !context.is_lost())
            .cloned()
            .collect();
        let mut pending = Vec::new();
        for context in &contexts {
            match context.request(|request| ToWorker::Cut { request, deadline }) {
                Ok(request) => pending.push((context, request)),
                Err(FrontError::Worker { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let limit = Deadline::after(deadline + CUT_GRACE);
        let mut reports = Vec::new();
        for (context, request) in pending {
            let ctx_id = context.ctx_id;
            let answer = match request.wait(limit.left()) {
                Ok((answer, _)) => answer,
                // Lost meanwhile: the others are cut all the same, and it is in no image.
                Err(FrontError::Worker { .. }) => continue,
                Err(error) => return Err(error),
            };
            let FromWorker::Cut { result, .. } = answer else {
                return Err(context.error("gave a wrong answer"));
            };
            let report = result.map_err(|error| match error {
                CutError::Hung(after) => FrontError::Hung { ctx_id, after },
                CutError::NotMigratable(reason) => FrontError::NotMigratable { ctx_id, reason },
                CutError::Failed(reason) => context.error(reason),
            })?;
            reports.push((ctx_id, report));
        }
        reports.sort_by_key(|(ctx_id, _)| *ctx_id);
        Ok(reports)
    }

    fn write_superblock(
        &self,
        device_tables: &[u8],
        reports: &[(u32, CutReport)],
    ) -> Result<u64, FrontError> {
        let resources = lock(&self.shared.resources)
            .iter()
            .filter_map(|(id, resource)| match resource {
                Resource::Arena(extent) => Some((*id, *extent)),
                Resource::Vtest(_) => None,
            })
            .collect();
        let ranges = lock(&self.shared.contexts)
            .values()
            .map(|context| {
                let mut ranges = lock(&context.ranges).clone();
                // A quota is asked for again, wherever the context is restored.
                ranges.retain(|(area, _)| matches!(area, Area::Window | Area::Image));
                (context.ctx_id, ranges)
            })
            .collect();
        let (requests, leaving) = self.requests();
        let identity = self.identity()?;
        let mut state = lock(&self.shared.state);
        let mut guard = lock(&self.shared.arena);
        let arena = guard.as_mut().ok_or(FrontError::NoArena)?;
        let mut tables = Tables {
            held: arena.held(),
            resources,
            ranges,
            requests,
            leaving,
            device: device_tables.to_vec(),
        };
        // The record's own extent is part of what is held: allocate for its size first, with room
        // for itself, then write what is held then.
        let size = encode_record(TABLES_KIND, TABLES_VERSION, &tables)?.len() as u64;
        let extent = arena.allocate(Area::Image, size + 256)?;
        tables.held = arena.held();
        // The tables of before go once the superblock no longer names them: not held any more.
        if let Some(previous) = state.tables {
            tables.held.image.retain(|held| *held != previous);
        }
        let bytes = encode_record(TABLES_KIND, TABLES_VERSION, &tables)?;
        if bytes.len() as u64 > extent.len {
            arena.release(Area::Image, extent)?;
            return Err(FrontError::State(
                "The front's tables grew while being written".into(),
            ));
        }
        let front = SealedExtent::write(arena.area(), extent.offset, &bytes)?;
        let superblock = Superblock {
            front,
            contexts: reports
                .iter()
                .map(|(ctx_id, report)| ContextEntry {
                    ctx_id: *ctx_id,
                    state: report.state,
                })
                .collect(),
            ..Superblock::empty(arena.area(), identity)
        };
        let sequence = Superblock::write_next(arena.area(), &superblock)?;
        if let Some(previous) = state.tables.replace(extent) {
            arena.release(Area::Image, previous)?;
        }
        state.sequence = sequence;
        Ok(sequence)
    }

    /// What the contexts were asked for and has not been answered: by now they have answered what they did.
    fn requests(&self) -> (BTreeMap<u32, u64>, Vec<LeavingRange>) {
        let mut requests = BTreeMap::new();
        // By address: contexts share what they leave together.
        let mut leaving = BTreeMap::new();
        for context in lock(&self.shared.contexts).values() {
            let (next, ranges) = context.requests();
            requests.insert(context.ctx_id, next);
            for (request, range) in ranges {
                leaving
                    .entry(Arc::as_ptr(&range) as usize)
                    .or_insert_with(|| LeavingRange {
                        extent: range.extent(),
                        told: Vec::new(),
                    })
                    .told
                    .push((context.ctx_id, request));
            }
        }
        (requests, leaving.into_values().collect())
    }

    /// What QEMU carries as device state: a few bytes that name the superblock.
    ///
    /// # Errors
    /// [`FrontError::State`] before the first cut.
    pub fn save(&self) -> Result<Vec<u8>, FrontError> {
        let sequence = lock(&self.shared.state).sequence;
        if sequence == 0 {
            return Err(FrontError::State("There was no cut".into()));
        }
        let guard = lock(&self.shared.arena);
        let area = guard.as_ref().ok_or(FrontError::NoArena)?.area();
        let saved = Saved {
            sequence,
            arena_len: area.end(),
            window_len: area.start(),
        };
        Ok(encode_record(SAVE_KIND, SAVE_VERSION, &saved)?)
    }

    /// Replaces all state by what the image in the arena holds; `bytes` came from
    /// [`Front::save`]. Returns the device room's tables. Nothing runs until [`Front::resume`].
    ///
    /// # Errors
    /// [`FrontError`] that says what does not fit; nothing is left half restored then.
    pub fn load(&self, bytes: &[u8]) -> Result<Vec<u8>, FrontError> {
        let saved: Saved = decode_record(SAVE_KIND, SAVE_VERSION, bytes, 4096)?;
        // Before anything is touched: does the image fit this host at all?
        let area = lock(&self.shared.arena)
            .as_ref()
            .ok_or(FrontError::NoArena)?
            .area()
            .clone();
        let superblock = Superblock::read_current(&area)?;
        if let Some(difference) = superblock.identity.difference(&self.identity()?) {
            return Err(FrontError::State(difference));
        }
        // What is handed out here is not what the image says: forgotten, not zeroed.
        self.forget_all();
        let loaded = self.load_image(&saved);
        if loaded.is_err() {
            self.forget_all();
        }
        loaded
    }

    fn load_image(&self, saved: &Saved) -> Result<Vec<u8>, FrontError> {
        let arena = lock(&self.shared.arena)
            .as_ref()
            .ok_or(FrontError::NoArena)?
            .arena()
            .clone();
        let mut fresh = ArenaState::new(arena)?;
        let superblock = Superblock::read_current(fresh.area())?;
        let found = Saved {
            sequence: superblock.sequence,
            arena_len: superblock.arena_len,
            window_len: superblock.window_len,
        };
        if found != *saved {
            return Err(FrontError::State(format!(
                "The image is {found:?}, the device state speaks of {saved:?}"
            )));
        }
        let bytes = superblock
            .front
            .read(fresh.area(), "Front tables", TABLES_MAX)?;
        let tables: Tables = decode_record(TABLES_KIND, TABLES_VERSION, &bytes, TABLES_MAX)?;
        fresh.restore(&tables.held)?;
        *lock(&self.shared.arena) = Some(fresh);
        {
            let mut resources = lock(&self.shared.resources);
            for (res_id, extent) in &tables.resources {
                resources.insert(*res_id, Resource::Arena(*extent));
            }
        }
        let restored = self.restore_contexts(&superblock, &tables);
        let mut state = lock(&self.shared.state);
        state.sequence = superblock.sequence;
        state.tables = Some(
            tables
                .held
                .image
                .iter()
                .find(|held| held.offset == superblock.front.extent.offset)
                .copied()
                .ok_or_else(|| FrontError::State("The front's tables are not held".into()))?,
        );
        drop(state);
        restored?;
        Ok(tables.device)
    }

    fn restore_contexts(&self, superblock: &Superblock, tables: &Tables) -> Result<(), FrontError> {
        let mut leaving: BTreeMap<u32, Vec<(u64, Arc<Leaving>)>> = BTreeMap::new();
        for LeavingRange { extent, told } in &tables.leaving {
            let range = Leaving::new(*extent, &self.shared);
            for (ctx_id, request) in told {
                let of_context = leaving.entry(*ctx_id).or_default();
                of_context.push((*request, Arc::clone(&range)));
            }
        }
        let mut pending = Vec::new();
        for entry in &superblock.contexts {
            let context = self.start_worker(entry.ctx_id, Guest::Only)?;
            lock(&context.ranges).extend(
                tables
                    .ranges
                    .get(&entry.ctx_id)
                    .into_iter()
                    .flatten()
                    .copied(),
            );
            if let Some(next) = tables.requests.get(&entry.ctx_id) {
                context.resume_requests(*next);
            }
            for (request, range) in leaving.remove(&entry.ctx_id).into_iter().flatten() {
                context.resume_leaving(request, range);
            }
            lock(&self.shared.contexts).insert(entry.ctx_id, Arc::clone(&context));
            let request = context.request(|request| ToWorker::Restore {
                request,
                state: entry.state,
            })?;
            pending.push((context, request));
        }
        for (context, request) in pending {
            let (answer, _) = request.wait(RESTORE_TIMEOUT)?;
            match answer {
                FromWorker::Restored { result: Ok(()), .. } => {}
                FromWorker::Restored {
                    result: Err(reason),
                    ..
                } => {
                    end(&self.shared, &context);
                    return Err(context.error(reason));
                }
                _ => return Err(context.error("gave a wrong answer")),
            }
        }
        Ok(())
    }
}
