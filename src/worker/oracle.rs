//! The oracle: after each submission, does everything that changed carry a mark?

use std::collections::HashMap;

use hesper_audit::dirty::CHUNK_SIZE;
use hesper_audit::marks::Marks;
use hesper_audit::oracle::OracleError;

use crate::channel::CommandMarks;
use crate::context::Context;
use crate::error::WorkerError;

impl Context {
    /// What each kind of command marked; with the oracle, what of that changed.
    pub(crate) fn marked_by(&self) -> Vec<CommandMarks> {
        let mut all: Vec<CommandMarks> = self
            .tracker
            .marked_bytes()
            .map(|(command, marked_bytes)| CommandMarks {
                command,
                marked_bytes,
                ..CommandMarks::default()
            })
            .collect();
        for (command, figures) in self.oracle.iter().flat_map(|oracle| oracle.by_command()) {
            let exact = CommandMarks {
                command,
                marked_bytes: 0,
                oracle_marked_bytes: figures.marked_bytes,
                oracle_changed_bytes: figures.changed_bytes,
                oracle_marked_chunks: figures.marked_chunks,
                oracle_changed_chunks: figures.changed_chunks,
            };
            CommandMarks::add(&mut all, &[exact]);
        }
        all
    }

    /// The content of device-local memory objects, by memory id.
    fn content(
        &mut self,
        memories: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<HashMap<u64, Vec<u8>>, WorkerError> {
        let mut all = HashMap::new();
        for (id, size) in memories {
            let mut content = vec![0; size as usize];
            self.drain.read_back(id, |chunk, bytes| {
                let start = (chunk * CHUNK_SIZE) as usize;
                content[start..start + bytes.len()].copy_from_slice(bytes);
                Ok(())
            })?;
            all.insert(id, content);
        }
        Ok(all)
    }

    fn device_memories(&self) -> Vec<(u64, u64)> {
        let memories = self.tracker.device_memories();
        memories.map(|(id, map)| (id, map.size())).collect()
    }

    /// Copies what the oracle does not know yet, before a submission runs. The submission counts as unchecked until
    /// [`Context::check_oracle`] has looked at what it did.
    pub(crate) fn oracle_baseline(&mut self) -> Result<(), WorkerError> {
        let Some(oracle) = &self.oracle else {
            return Ok(());
        };
        if self.status.oracle_unchecked > 0 {
            let unchecked = self.status.oracle_unchecked;
            hesper_log::guest_error!(
                unchecked,
                "Submissions that did not finish were not checked by the oracle"
            );
        }
        self.status.oracle_unchecked += 1;
        let mut new = self.device_memories();
        new.retain(|(id, _)| !oracle.knows(*id));
        let all = self.content(new.iter().copied())?;
        if let Some(oracle) = &mut self.oracle {
            oracle
                .baseline(new, |id, offset, out| copy(&all, id, offset, out))
                .map_err(|error| WorkerError::Oracle(error.to_string()))?;
        }
        Ok(())
    }

    /// Checks all memory after submission `number`, which carried `marks`, has retired.
    pub(crate) fn check_oracle(&mut self, number: u64, marks: &Marks) -> Result<(), WorkerError> {
        let all = self.content(self.device_memories())?;
        let Some(oracle) = &mut self.oracle else {
            return Ok(());
        };
        oracle.note(marks, format!("submission {number}"));
        let checked = oracle.check(|id, offset, out| copy(&all, id, offset, out));
        self.status.oracle_checked += 1;
        self.status.oracle_unchecked = self.status.oracle_unchecked.saturating_sub(1);
        self.status.oracle_misses = oracle.counters().missed_chunks;
        match checked {
            Ok(()) => Ok(()),
            Err(OracleError::Missed(misses)) => {
                // Reported, and the context goes on: the count is what a test looks at.
                hesper_log::guest_error!(%misses, "Oracle");
                Ok(())
            }
            Err(error) => Err(WorkerError::Oracle(error.to_string())),
        }
    }
}

fn copy(
    all: &HashMap<u64, Vec<u8>>,
    id: u64,
    offset: u64,
    out: &mut [u8],
) -> Result<(), std::io::Error> {
    let start = offset as usize;
    match all.get(&id) {
        Some(content) => {
            let end = (start + out.len()).min(content.len());
            out[..end - start].copy_from_slice(&content[start..end]);
        }
        // Freed since: its content is nobody's.
        None => out.fill(0),
    }
    Ok(())
}
