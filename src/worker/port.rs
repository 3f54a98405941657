//! The worker's end of the channel: messages that arrive while an answer is awaited are kept.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hesper_image::Extent;

use crate::channel::{Area, Channel, ChannelError, FromWorker, ToWorker};

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
}

impl Port {
    /// Wraps a channel.
    pub fn new(channel: Channel) -> Self {
        Self {
            channel,
            buffer: Vec::new(),
            kept: VecDeque::new(),
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
        let asked = std::time::Instant::now();
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
