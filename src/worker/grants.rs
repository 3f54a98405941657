//! Memory that the front lets this context have: quotas are the VM's, not a context's.

use hesper_image::Extent;

use crate::channel::{Area, ChannelError};
use crate::port::Port;

/// What is asked for at a time, bytes, so that the front is seldom asked.
const STEP: u64 = 16 << 20;

/// What one kind of memory was granted, and how much of it is in use.
#[derive(Debug)]
pub struct Grants {
    area: Area,
    granted: Vec<u64>,
    total: u64,
    used: u64,
}

impl Grants {
    /// Nothing granted yet.
    pub fn new(area: Area) -> Self {
        Self {
            area,
            granted: Vec::new(),
            total: 0,
            used: 0,
        }
    }

    /// Takes `len` bytes into use. False when the quota has no room.
    ///
    /// # Errors
    /// [`ChannelError`] when the front does not answer.
    pub fn take(&mut self, port: &mut Port, len: u64) -> Result<bool, ChannelError> {
        let Some(used) = self.used.checked_add(len) else {
            return Ok(false);
        };
        let missing = used.saturating_sub(self.total);
        if missing > 0 {
            let steps = missing.checked_next_multiple_of(STEP);
            for asked in steps.into_iter().chain([missing]) {
                if port.allocate(self.area, asked)?.is_some() {
                    self.granted.push(asked);
                    self.total = self.total.saturating_add(asked);
                    break;
                }
            }
            if used > self.total {
                return Ok(false);
            }
        }
        self.used = used;
        Ok(true)
    }

    /// `len` bytes are in use no more.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn give_back(&mut self, port: &Port, len: u64) -> Result<(), ChannelError> {
        self.used = self.used.saturating_sub(len);
        // A step is kept: whoever frees and allocates in turn shall not ask each time.
        while let Some(last) = self.granted.last().copied()
            && self.total.saturating_sub(last) >= self.used.saturating_add(STEP)
        {
            self.granted.pop();
            self.total -= last;
            port.free(self.area, Extent::new(0, last))?;
        }
        Ok(())
    }
}
