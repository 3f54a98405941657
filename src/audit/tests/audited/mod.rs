//! A tracker with the buffers that it asks for.

// Every test program has this module, and none uses all of it.
#![allow(dead_code)]

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use ash::vk::{self, Handle};
use hesper_audit::AuditError;
use hesper_audit::buffers::Buffer;
use hesper_audit::marks::Marks;
use hesper_audit::rules;
use hesper_audit::tracker::{Robustness, Tracker};
use hesper_venus::Command;

pub struct Audited {
    pub tracker: Tracker,
    pub buffers: HashMap<u64, Buffer>,
}

impl Deref for Audited {
    type Target = Tracker;

    fn deref(&self) -> &Tracker {
        &self.tracker
    }
}

impl DerefMut for Audited {
    fn deref_mut(&mut self) -> &mut Tracker {
        &mut self.tracker
    }
}

impl Audited {
    pub fn new(robustness: Robustness, device_local_types: u32) -> Self {
        Self {
            tracker: Tracker::new(robustness, device_local_types),
            buffers: HashMap::new(),
        }
    }

    pub fn create_buffer(&mut self, id: u64, size: u64, addressed: bool) {
        let buffer = Buffer {
            size,
            binding: None,
            addressed,
        };
        self.buffers.insert(id, buffer);
    }

    pub fn bind_buffer(&mut self, id: u64, memory: u64, offset: u64) -> Result<(), AuditError> {
        let buffer = self.buffers.get_mut(&id).unwrap();
        self.tracker.buffer_binding((id, *buffer), memory, offset)?;
        buffer.binding = Some((memory, offset));
        self.tracker.changed();
        Ok(())
    }

    pub fn destroy_buffer(&mut self, id: u64) {
        self.tracker.buffer_destroyed(id);
        self.buffers.remove(&id);
    }

    pub fn resolve_submit(
        &mut self,
        command_buffers: impl IntoIterator<Item = u64, IntoIter: Clone>,
        marks: &mut Marks,
    ) -> Result<(), AuditError> {
        self.tracker
            .resolve_submit(&self.buffers, command_buffers, marks)
    }

    /// Both calls, as for a command that the driver executed.
    pub fn follow(&mut self, command: &Command<'_>) -> Result<(), AuditError> {
        // SAFETY: every pointer in the commands of these tests is null or valid for its count.
        unsafe { rules::before(&mut self.tracker, &self.buffers, command) }?;
        keep(&mut self.buffers, command);
        // SAFETY: as above.
        unsafe { rules::after(&mut self.tracker, command) }
    }
}

/// What a table of buffers keeps of a command that the driver executed.
pub fn keep(buffers: &mut HashMap<u64, Buffer>, command: &Command<'_>) {
    match command {
        Command::VkCreateBuffer(args) if args.ret == vk::Result::SUCCESS => {
            // SAFETY: every pointer in the commands of these tests is null or valid for its count.
            let (buffer, id) = unsafe { (Buffer::new(&*args.p_create_info), *args.p_buffer) };
            // A taken id is refused by whoever executes commands.
            buffers.entry(id.as_raw()).or_insert(buffer);
        }
        Command::VkBindBufferMemory2(args) if args.ret == vk::Result::SUCCESS => {
            for at in 0..args.bind_info_count as usize {
                // SAFETY: as above.
                let info = unsafe { &*args.p_bind_infos.add(at) };
                if let Some(buffer) = buffers.get_mut(&info.buffer.as_raw()) {
                    buffer.binding = Some((info.memory.as_raw(), info.memory_offset));
                }
            }
        }
        Command::VkDestroyBuffer(args) => {
            buffers.remove(&args.buffer.as_raw());
        }
        _ => {}
    }
}
