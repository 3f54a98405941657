//! What is checked after each submission.

use std::collections::HashSet;

use super::host::Host;
use super::read::reader;

const PAGE: usize = 4096;

impl Host {
    /// What the oracle finds about the last submission, `summary`.
    pub fn check(&mut self, summary: String) -> Result<(), String> {
        self.reader.snapshot(&self.gpu, &mut self.memories);
        self.oracle.note(&self.marks, summary.clone());
        let checked = self.oracle.check(reader(&self.memories, &self.opaque));
        checked.map_err(|error| error.to_string())?;
        if self.gpu.twice {
            self.look_twice();
        }
        let exact = self.check_images().and_then(|()| self.check_bytes());
        exact.map_err(|error| format!("{error} after {summary}"))
    }

    /// Takes another snapshot, nothing having run since the last one, and counts the memory objects that differ.
    fn look_twice(&mut self) {
        let first: Vec<Vec<u8>> = self
            .memories
            .values()
            // SAFETY: memory in the table is mapped or was copied, and the GPU is idle.
            .map(|memory| unsafe { memory.content() }.to_vec())
            .collect();
        self.reader.snapshot(&self.gpu, &mut self.memories);
        for (old, memory) in first.iter().zip(self.memories.values()) {
            // SAFETY: as above.
            self.unstable += u64::from(old != unsafe { memory.content() });
        }
    }

    /// Every level and layer that changed since the last check must be in the marks.
    fn check_images(&mut self) -> Result<(), String> {
        let mut marked = HashSet::new();
        for range in self.marks.image_ranges() {
            let at = range.subresources;
            for mip in at.mip..at.mip + at.mips {
                for layer in at.layer..at.layer + at.layers {
                    marked.insert((range.image, mip, layer));
                }
            }
        }
        let mut known = std::mem::take(&mut self.texels);
        let mut changed = HashSet::new();
        let mut missed = None;
        for (at, new) in self.read_images() {
            match known.get_mut(&at) {
                None => {
                    known.insert(at, new.to_vec());
                }
                Some(old) if old == new => {}
                Some(old) => {
                    old.copy_from_slice(new);
                    changed.insert(at);
                    if !marked.contains(&at) {
                        missed = missed.or(Some(at));
                    }
                }
            }
        }
        self.texels = known;
        self.oracle
            .count_images(|image, mip, layer| changed.contains(&(image, mip, layer)));
        self.image_counts.0 += changed.len() as u64;
        self.image_counts.1 += marked.len() as u64;
        match missed {
            None => Ok(()),
            Some((image, mip, layer)) => Err(format!(
                "Missed writes: image {image} level {mip} layer {layer}, {:?},",
                self.images[&image]
            )),
        }
    }

    /// Every byte of any memory that changed since the last check must lie in a marked range, chunks aside.
    fn check_bytes(&mut self) -> Result<(), String> {
        let host = self.marks.host_ranges().iter().copied();
        let ranges: Vec<_> = self.marks.device_ranges().chain(host).collect();
        let mut missed = None;
        for (id, memory) in &mut self.memories {
            // SAFETY: memory in the table is mapped or was copied, and the GPU is idle.
            let (content, copy) = unsafe { memory.content_and_copy() };
            for (page, (old, new)) in copy.chunks_mut(PAGE).zip(content.chunks(PAGE)).enumerate() {
                if old == new {
                    continue;
                }
                let start = (page * PAGE) as u64;
                let near: Vec<_> = ranges
                    .iter()
                    .filter(|range| {
                        range.memory == *id
                            && range.offset < start + PAGE as u64
                            && start < range.offset + range.len
                    })
                    .collect();
                let mut unmarked = (start..)
                    .zip(old.iter().zip(new))
                    .filter(|(_, (old, new))| old != new)
                    .map(|(at, _)| at)
                    .filter(|at| {
                        !near
                            .iter()
                            .any(|range| range.offset <= *at && *at < range.offset + range.len)
                    });
                let opaque = |at: &u64| {
                    let ranges = self.opaque.get(id).into_iter().flatten();
                    ranges
                        .into_iter()
                        .any(|range| range.contains(&(*at as usize)))
                };
                let unmarked = if self.opaque.is_empty() {
                    unmarked.next()
                } else {
                    let all: Vec<u64> = unmarked.collect();
                    self.unmarked_opaque += u64::from(all.iter().any(opaque));
                    all.into_iter().find(|at| !opaque(at))
                };
                if let Some(at) = unmarked {
                    missed = missed.or(Some((*id, at)));
                }
                old.copy_from_slice(new);
            }
        }
        match missed {
            None => Ok(()),
            Some((id, at)) => Err(format!("Missed writes: byte {at:#x} of memory {id}")),
        }
    }
}
