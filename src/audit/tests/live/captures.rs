//! Captures of device-local memory while the GPU works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hesper_audit::dirty::DirtyMap;

use super::host::Host;

/// A device-local memory object's captured content.
struct Copy {
    at: usize,
    map: Arc<DirtyMap>,
    content: Vec<u8>,
}

impl Copy {
    /// Takes the marks, then copies; the number of chunks.
    fn capture(&mut self) -> u64 {
        let set = self.map.take();
        for (offset, len) in set.runs() {
            for at in offset as usize..(offset + len) as usize {
                // SAFETY: inside of the mapping, which outlives the captures. The GPU may write meanwhile: read whatever
                // is there, as a capture does.
                self.content[at] = unsafe { (self.at as *const u8).add(at).read_volatile() };
            }
        }
        set.len()
    }
}

/// Chunks that were captured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Captured {
    /// While programs ran.
    pub early: u64,
    /// Of these, taken and copied while the device worked on one and the same submission.
    pub busy: u64,
    /// At the end.
    pub last: u64,
}

/// A thread that captures.
pub struct Captures {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(Captured, Vec<Copy>)>,
}

impl Host {
    /// Starts a thread that captures device-local memory again and again, whatever runs. The memory must be mapped.
    pub fn start_captures(&self) -> Captures {
        let stop = Arc::new(AtomicBool::new(false));
        let mut copies: Vec<Copy> = Vec::new();
        for (id, map) in self.tracker.device_memories() {
            let memory = &self.memories[&id];
            copies.push(Copy {
                at: memory.address(),
                map: map.clone(),
                // New memory is zeros, which nobody has to mark.
                content: memory.copy.clone(),
            });
        }
        let work = self.work.clone();
        let thread = {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut captured = Captured::default();
                while !stop.load(Ordering::Acquire) {
                    let before = work.load(Ordering::Acquire);
                    let count = copies.iter_mut().map(Copy::capture).sum::<u64>();
                    captured.early += count;
                    if before % 2 == 1 && work.load(Ordering::Acquire) == before {
                        captured.busy += count;
                    }
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                captured.last = copies.iter_mut().map(Copy::capture).sum::<u64>();
                (captured, copies)
            })
        };
        Captures { stop, thread }
    }
}

impl Captures {
    /// Captures once more and compares with the memory itself.
    pub fn stop(self) -> Captured {
        self.stop.store(true, Ordering::Release);
        let (captured, copies) = self.thread.join().unwrap();
        for copy in copies {
            assert!(copy.map.take().is_empty());
            for (at, byte) in copy.content.iter().enumerate() {
                // SAFETY: as in `capture`; the GPU is idle.
                let now = unsafe { (copy.at as *const u8).add(at).read_volatile() };
                assert_eq!(*byte, now, "byte {at:#x} was lost");
            }
        }
        captured
    }
}
