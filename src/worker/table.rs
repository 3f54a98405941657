//! The object table: every object that a guest made, its host handle, and the bytes that made it.
//!
//! A restored context is built by running creation commands again in the order in which they first
//! ran. So each object points at a [`Creation`]: the raw command. A creation lives while one of
//! its objects lives, or while a later creation refers to it (a pipeline layout needs the set
//! layouts that it was made from, even after the guest destroyed them).
//!
//! Handles that the guest chose are unique over all types in stock clients, and so here: one map.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use ash::vk;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Numbers of dead creations that are kept before they are cleared away.
const FRESH_SLACK: usize = 1024;

/// Mixes one u64, as [`hesper_audit`] does. Guest ids are counters in practice; a guest that makes them collide slows its
/// own context only.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A map by guest id.
pub type IdMap<K, T> = HashMap<K, T, BuildHasherDefault<IdHasher>>;

/// Objects that one context may hold.
const OBJECTS_MAX: usize = 1 << 20;

/// What is wrong with an id.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The id names nothing.
    #[error("No object has id {0:#x}")]
    Unknown(u64),
    /// The id names an object of another type.
    #[error("Object {id:#x} is a {found:?}, not a {wanted:?}")]
    WrongType {
        /// The id.
        id: u64,
        /// What it is.
        found: vk::ObjectType,
        /// What the command wants.
        wanted: vk::ObjectType,
    },
    /// The id is taken, or null.
    #[error("Object id {0:#x} can't be used for a new object")]
    Taken(u64),
    /// The guest did not wait for the answer that there is no such object.
    #[error("The {ty:?} {id:#x} does not exist: its creation was answered with {result:?}")]
    Failed {
        /// The id.
        id: u64,
        /// What it would be.
        ty: vk::ObjectType,
        /// What its creation was answered.
        result: vk::Result,
    },
    /// What it would hold has no place.
    #[error(
        "The {ty:?} {id:#x} has no memory: it was never bound, or what it was bound to could not be allocated"
    )]
    Unbound {
        /// The id.
        id: u64,
        /// What it is.
        ty: vk::ObjectType,
    },
    /// Too many objects.
    #[error("More than {OBJECTS_MAX} objects")]
    TooMany,
}

/// Number of a creation: grows, is never used again, and orders the replay.
pub type CreationSeq = u64;

/// A command that made objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The raw bytes of the command.
    pub bytes: Vec<u8>,
    /// Type (raw) and guest id of each object that it made.
    pub outputs: SmallVec<[(i32, u64); 1]>,
    /// Creations whose objects it refers to.
    pub needs: SmallVec<[CreationSeq; 2]>,
}

#[derive(Debug)]
struct Tracked {
    creation: Creation,
    live_outputs: usize,
    needed_by: usize,
    journaled: bool,
}

/// An object.
#[derive(Debug)]
pub struct Object<D> {
    /// Type.
    pub ty: vk::ObjectType,
    /// Host handle.
    pub handle: u64,
    /// The creation that made it.
    pub creation: CreationSeq,
    /// What the executor keeps beside it.
    pub data: D,
}

/// A change for the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A creation that must be replayed.
    Created(CreationSeq, Creation),
    /// A creation that nobody needs any more.
    Dropped(CreationSeq),
}

/// The table. `D` is what the executor keeps with each object.
#[derive(Debug)]
pub struct Table<D> {
    objects: IdMap<u64, Object<D>>,
    /// Objects that never came to be, and what their creations were answered.
    failed: IdMap<u64, (vk::ObjectType, vk::Result)>,
    creations: IdMap<CreationSeq, Tracked>,
    next_seq: CreationSeq,
    /// Creations not yet in the journal, and journaled ones that went away.
    fresh: Vec<CreationSeq>,
    dropped: Vec<CreationSeq>,
}

impl<D> Default for Table<D> {
    fn default() -> Self {
        Self {
            objects: IdMap::default(),
            failed: IdMap::default(),
            creations: IdMap::default(),
            next_seq: 1,
            fresh: Vec::new(),
            dropped: Vec::new(),
        }
    }
}

impl<D> Table<D> {
    /// Number of live objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// True when nothing lives.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The object `id`, which must be a `wanted`.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::WrongType`].
    pub fn get(&self, wanted: vk::ObjectType, id: u64) -> Result<&Object<D>, TableError> {
        let object = self.objects.get(&id).ok_or_else(|| self.missing(id))?;
        if object.ty != wanted {
            return Err(TableError::WrongType {
                id,
                found: object.ty,
                wanted,
            });
        }
        Ok(object)
    }

    fn missing(&self, id: u64) -> TableError {
        match self.failed.get(&id) {
            Some((ty, result)) => TableError::Failed {
                id,
                ty: *ty,
                result: *result,
            },
            None => TableError::Unknown(id),
        }
    }

    /// As [`Table::get`], to change it.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get_mut(
        &mut self,
        wanted: vk::ObjectType,
        id: u64,
    ) -> Result<&mut Object<D>, TableError> {
        let object = self.objects.get_mut(&id).ok_or(TableError::Unknown(id))?;
        if object.ty != wanted {
            return Err(TableError::WrongType {
                id,
                found: object.ty,
                wanted,
            });
        }
        Ok(object)
    }

    /// Whether `id` may name a new object.
    ///
    /// # Errors
    /// [`TableError::Taken`], [`TableError::TooMany`].
    pub fn check_new(&self, id: u64) -> Result<(), TableError> {
        if id == 0 || self.objects.contains_key(&id) {
            return Err(TableError::Taken(id));
        }
        if self.objects.len() + self.failed.len() >= OBJECTS_MAX {
            return Err(TableError::TooMany);
        }
        Ok(())
    }

    /// Keeps the id of an object that never came to be, with what its creation was answered.
    ///
    /// # Errors
    /// As [`Table::check_new`].
    pub fn add_failed(
        &mut self,
        ty: vk::ObjectType,
        id: u64,
        result: vk::Result,
    ) -> Result<(), TableError> {
        self.check_new(id)?;
        self.failed.insert(id, (ty, result));
        Ok(())
    }

    /// Whether any object never came to be.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// What the creation of `id` was answered, if it is a `wanted` that never came to be.
    pub fn failed(&self, wanted: vk::ObjectType, id: u64) -> Option<vk::Result> {
        let (ty, result) = self.failed.get(&id)?;
        (*ty == wanted).then_some(*result)
    }

    /// Forgets that `id` never came to be.
    pub fn forget_failed(&mut self, id: u64) {
        self.failed.remove(&id);
    }

    /// Forgets all objects that never came to be.
    pub fn forget_all_failed(&mut self) {
        self.failed.clear();
    }

    /// All objects that never came to be: type (raw), id, result (raw).
    pub fn all_failed(&self) -> impl Iterator<Item = (i32, u64, i32)> {
        self.failed
            .iter()
            .map(|(id, (ty, result))| (ty.as_raw(), *id, result.as_raw()))
    }

    /// Takes note of a creation before its objects are added. `inputs` are the ids that the
    /// command referred to; those that live are what it needs.
    pub fn begin_creation(
        &mut self,
        bytes: &[u8],
        inputs: impl IntoIterator<Item = u64>,
    ) -> CreationSeq {
        let mut needs: SmallVec<[CreationSeq; 2]> = inputs
            .into_iter()
            .filter_map(|id| self.objects.get(&id).map(|object| object.creation))
            .collect();
        needs.sort_unstable();
        needs.dedup();
        for seq in &needs {
            if let Some(tracked) = self.creations.get_mut(seq) {
                tracked.needed_by += 1;
            }
        }
        let seq = self.next_seq;
        self.next_seq += 1;
        self.creations.insert(
            seq,
            Tracked {
                creation: Creation {
                    bytes: bytes.to_vec(),
                    outputs: SmallVec::new(),
                    needs,
                },
                live_outputs: 0,
                needed_by: 0,
                journaled: false,
            },
        );
        self.fresh.push(seq);
        // Nobody may ever ask for changes: what died meanwhile must not pile up.
        if self.fresh.len() > FRESH_SLACK + 2 * self.creations.len() {
            self.fresh.retain(|seq| self.creations.contains_key(seq));
        }
        seq
    }

    /// Adds an object of a creation that was begun.
    ///
    /// # Errors
    /// As [`Table::check_new`].
    pub fn add(
        &mut self,
        creation: CreationSeq,
        ty: vk::ObjectType,
        id: u64,
        handle: u64,
        data: D,
    ) -> Result<(), TableError> {
        self.check_new(id)?;
        if let Some(tracked) = self.creations.get_mut(&creation) {
            tracked.creation.outputs.push((ty.as_raw(), id));
            tracked.live_outputs += 1;
        }
        self.objects.insert(
            id,
            Object {
                ty,
                handle,
                creation,
                data,
            },
        );
        Ok(())
    }

    /// Takes an object out. Its creation goes as soon as nobody needs it.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn remove(&mut self, wanted: vk::ObjectType, id: u64) -> Result<Object<D>, TableError> {
        self.get(wanted, id)?;
        let object = self.objects.remove(&id).ok_or(TableError::Unknown(id))?;
        if let Some(tracked) = self.creations.get_mut(&object.creation) {
            tracked.live_outputs = tracked.live_outputs.saturating_sub(1);
        }
        self.release(object.creation);
        Ok(object)
    }

    fn release(&mut self, seq: CreationSeq) {
        let mut pending: SmallVec<[CreationSeq; 4]> = SmallVec::from_slice(&[seq]);
        while let Some(seq) = pending.pop() {
            let done = self
                .creations
                .get(&seq)
                .is_some_and(|t| t.live_outputs == 0 && t.needed_by == 0);
            if !done {
                continue;
            }
            if let Some(tracked) = self.creations.remove(&seq) {
                if tracked.journaled {
                    self.dropped.push(seq);
                }
                for needed in tracked.creation.needs {
                    if let Some(parent) = self.creations.get_mut(&needed) {
                        parent.needed_by = parent.needed_by.saturating_sub(1);
                        pending.push(needed);
                    }
                }
            }
        }
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Object<D>)> {
        self.objects.iter().map(|(id, object)| (*id, object))
    }

    /// All objects, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Object<D>)> {
        self.objects.iter_mut().map(|(id, object)| (*id, object))
    }

    /// Objects of kept creations that do not live any more: creation and id.
    pub fn dead_outputs(&self) -> Vec<(CreationSeq, u64)> {
        let mut dead: Vec<_> = self
            .creations
            .iter()
            .flat_map(|(seq, tracked)| {
                tracked
                    .creation
                    .outputs
                    .iter()
                    .filter(|(_, id)| {
                        self.objects
                            .get(id)
                            .is_none_or(|object| object.creation != *seq)
                    })
                    .map(|(_, id)| (*seq, *id))
            })
            .collect();
        dead.sort_unstable();
        dead
    }

    /// Creation number that the next one gets.
    pub fn next_seq(&self) -> CreationSeq {
        self.next_seq
    }

    /// Hands every change since the last call to `journal`, oldest creation first. When `journal`
    /// fails, the rest stays for the next call.
    ///
    /// # Errors
    /// What `journal` returned.
    pub fn take_changes<E>(
        &mut self,
        mut journal: impl FnMut(&Change) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(seq) = self.dropped.last() {
            journal(&Change::Dropped(*seq))?;
            self.dropped.pop();
        }
        // Journal in order of creation; those that died before they were written never are.
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.retain(|seq| self.creations.contains_key(seq));
        for (at, seq) in fresh.iter().enumerate() {
            if let Some(tracked) = self.creations.get_mut(seq) {
                if let Err(error) = journal(&Change::Created(*seq, tracked.creation.clone())) {
                    self.fresh = fresh.split_off(at);
                    return Err(error);
                }
                tracked.journaled = true;
            }
        }
        Ok(())
    }

    /// Forgets what was journaled: the next [`Table::take_changes`] tells everything again.
    pub fn journal_again(&mut self) {
        self.dropped.clear();
        for tracked in self.creations.values_mut() {
            tracked.journaled = false;
        }
        self.fresh = self.creations.keys().copied().collect();
        self.fresh.sort_unstable();
    }

    /// Creations are numbered from here on after a restore, and count as journaled up to here.
    pub fn resume_after_restore(&mut self, next_seq: CreationSeq) {
        self.next_seq = self.next_seq.max(next_seq);
        self.fresh.clear();
        self.dropped.clear();
        for tracked in self.creations.values_mut() {
            tracked.journaled = true;
        }
    }

    /// Sets the number that the next creation gets, for a replay that keeps numbers.
    pub fn set_next_seq(&mut self, seq: CreationSeq) {
        self.next_seq = seq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: vk::ObjectType = vk::ObjectType::SHADER_MODULE;
    const PIPELINE: vk::ObjectType = vk::ObjectType::PIPELINE;

    fn changes(table: &mut Table<()>) -> Vec<Change> {
        let mut all = Vec::new();
        table
            .take_changes(|change| {
                all.push(change.clone());
                Ok::<_, ()>(())
            })
            .unwrap();
        all
    }

    #[test]
    fn destroyed_parent_is_kept_while_a_child_lives() {
        let mut table = Table::<()>::default();
        let shader = table.begin_creation(b"shader", []);
        table.add(shader, SHADER, 1, 10, ()).unwrap();
        let pipeline = table.begin_creation(b"pipeline", [1]);
        table.add(pipeline, PIPELINE, 2, 20, ()).unwrap();

        table.remove(SHADER, 1).unwrap();
        let kept: Vec<_> = changes(&mut table);
        table.remove(PIPELINE, 2).unwrap();

        assert!(
            matches!(&kept[..], [Change::Created(1, _), Change::Created(2, c)] if c.needs[..] == [1])
        );
        let dropped = changes(&mut table);
        assert!(dropped.contains(&Change::Dropped(1)) && dropped.contains(&Change::Dropped(2)));
    }

    #[test]
    fn object_of_another_type_is_refused() {
        let mut table = Table::<()>::default();
        let seq = table.begin_creation(b"shader", []);
        table.add(seq, SHADER, 1, 10, ()).unwrap();
        assert!(matches!(
            table.get(PIPELINE, 1),
            Err(TableError::WrongType { .. })
        ));
        assert!(matches!(
            table.remove(PIPELINE, 1),
            Err(TableError::WrongType { .. })
        ));
        assert_eq!(table.get(SHADER, 2).err(), Some(TableError::Unknown(2)));
    }

    #[test]
    fn taken_or_null_id_is_refused() {
        let mut table = Table::<()>::default();
        let seq = table.begin_creation(b"a", []);
        table.add(seq, SHADER, 1, 10, ()).unwrap();
        assert_eq!(table.add(seq, SHADER, 1, 11, ()), Err(TableError::Taken(1)));
        assert_eq!(table.check_new(0), Err(TableError::Taken(0)));
    }

    #[test]
    fn object_that_never_came_to_be_is_told_apart_until_its_id_is_used() {
        let mut table = Table::<()>::default();
        let result = vk::Result::ERROR_INVALID_SHADER_NV;
        table.add_failed(SHADER, 1, result).unwrap();

        assert_eq!(table.failed(SHADER, 1), Some(result));
        assert_eq!(table.failed(PIPELINE, 1), None);
        let missing = TableError::Failed {
            id: 1,
            ty: SHADER,
            result,
        };
        assert_eq!(table.get(SHADER, 1).err(), Some(missing));
        table.forget_failed(1);
        assert!(!table.has_failed());
        assert_eq!(table.get(SHADER, 1).err(), Some(TableError::Unknown(1)));
    }

    #[test]
    fn creation_that_died_unjournaled_is_never_told() {
        let mut table = Table::<()>::default();
        let seq = table.begin_creation(b"a", []);
        table.add(seq, SHADER, 1, 10, ()).unwrap();
        table.remove(SHADER, 1).unwrap();
        assert_eq!(changes(&mut table), []);
    }

    #[test]
    fn churn_without_a_journal_does_not_pile_up() {
        let mut table = Table::<()>::default();
        for id in 1..100_000 {
            let seq = table.begin_creation(b"a", []);
            table.add(seq, SHADER, id, id, ()).unwrap();
            table.remove(SHADER, id).unwrap();
        }
        assert!(table.fresh.len() <= FRESH_SLACK + 2);
        assert_eq!(changes(&mut table), []);
    }

    #[test]
    fn failed_journal_keeps_the_rest_for_later() {
        let mut table = Table::<()>::default();
        for id in 1..=3 {
            let seq = table.begin_creation(b"a", []);
            table.add(seq, SHADER, id, id, ()).unwrap();
        }
        let mut room = 1;
        let full = table.take_changes(|_| {
            room -= 1;
            if room < 0 { Err(()) } else { Ok(()) }
        });
        assert!(full.is_err());
        assert_eq!(changes(&mut table).len(), 2);
    }
}
