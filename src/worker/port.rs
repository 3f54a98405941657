//! The worker's end of the channel: messages that arrive while an answer is awaited are kept.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hesper_image::Extent;
use hesper_log::{Guest, Limits};

use crate::channel::{Area, Channel, ChannelError, FromWorker, ToWorker, Warning};

/// How long the front may take to answer a request for memory.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Messages kept at most while waiting; the front sends no more than a few.
const KEPT_MAX: usize = 1 << 16;

/// A message with its descriptors.
pub type Incoming = (ToWorker, Vec<OwnedFd>);

/// The worker's end.
#[derive(Debug)]
pub struct Port {
    channel: Channel,
    buffer: Vec<u8>,
    kept: VecDeque<Incoming>,
    /// Of each kind of warning, so that the front is not flooded.
    warnings: [Limits; Warning::COUNT],
}

impl Port {
    /// Wraps a channel.
    pub fn new(channel: Channel) -> Self {
        Self {
            channel,
            buffer: Vec::new(),
            kept: VecDeque::new(),
            warnings: [const { Limits::new() }; Warning::COUNT],
        }
    }

    /// The next message, waiting up to `timeout` for one.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Incoming>, ChannelError> {
        match self.kept.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.channel.receive(&mut self.buffer, timeout),
        }
    }

    /// Tells the front something.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn send(&self, message: &FromWorker) -> Result<(), ChannelError> {
        self.channel.send(message, &[])
    }

    /// Has the front log something that the guest can bring about as often as it likes.
    pub fn warn(&self, what: Warning, why: &dyn std::fmt::Display) {
        let limits = &self.warnings[what as usize];
        if let Some(left_out) = limits.pass(Guest::Only, Instant::now(), 0) {
            let why = why.to_string();
            let why = why.chars().take(Warning::WHY_LEN_MAX).collect();
            // A front that is gone ends the context at the next look.
            let _ = self.send(&FromWorker::Warning {
                what,
                why,
                left_out,
            });
        }
    }

    /// As [`Port::send`], with a descriptor.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn send_fd(
        &self,
        message: &FromWorker,
        fd: std::os::fd::BorrowedFd<'_>,
    ) -> Result<(), ChannelError> {
        self.channel.send(message, &[fd])
    }

    /// Asks for a range of the arena. `None` when there is none.
    ///
    /// # Errors
    /// [`ChannelError`]; [`ChannelError::Closed`] too when the front does not answer.
    pub fn allocate(&mut self, area: Area, len: u64) -> Result<Option<Extent>, ChannelError> {
        self.send(&FromWorker::Allocate { area, len })?;
        self.allocated()
    }

    /// Becomes one more holder of a resource's range. `None` when there is no such resource any
    /// more.
    ///
    /// # Errors
    /// As [`Port::allocate`].
    pub fn hold(&mut self, res_id: u32) -> Result<Option<Extent>, ChannelError> {
        self.send(&FromWorker::Hold { res_id })?;
        self.allocated()
    }

    fn allocated(&mut self) -> Result<Option<Extent>, ChannelError> {
        let asked = Instant::now();
        while asked.elapsed() < ANSWER_TIMEOUT && self.kept.len() < KEPT_MAX {
            match self
                .channel
                .receive(&mut self.buffer, Some(ANSWER_TIMEOUT))?
            {
                Some((ToWorker::Allocated(extent), _)) => return Ok(extent),
                Some(other) => self.kept.push_back(other),
                None => {}
            }
        }
        Err(ChannelError::Closed)
    }

    /// Gives a range back.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn free(&self, area: Area, extent: Extent) -> Result<(), ChannelError> {
        self.send(&FromWorker::Free { area, extent })
    }
}
