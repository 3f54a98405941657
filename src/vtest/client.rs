//! One client: its requests, in order.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hesper_front::{Front, FrontError};
use hesper_log::Guest;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use crate::VtestError;
use crate::sync::Syncs;
use crate::wire::{self, Request};

/// Batches of one submission.
const BATCHES_MAX: u32 = 1024;

/// Resources without memory that a client may have.
const HOLLOW_MAX: usize = 1 << 16;

/// Resource ids are the front's: unique over all clients.
static NEXT_RESOURCE: AtomicU32 = AtomicU32::new(1);

/// A client.
pub struct Client {
    ctx_id: u32,
    guest: Guest,
    stream: UnixStream,
    front: Front,
    syncs: Arc<Syncs>,
    resources: HashSet<u32>,
    /// Resources of memory that could not be allocated: the front knows nothing of them.
    hollow: HashSet<u32>,
    name: String,
    started: bool,
}

impl Client {
    pub fn new(
        ctx_id: u32,
        guest: Guest,
        stream: UnixStream,
        front: Front,
        syncs: Arc<Syncs>,
    ) -> Self {
        Self {
            ctx_id,
            guest,
            stream,
            front,
            syncs,
            resources: HashSet::new(),
            hollow: HashSet::new(),
            name: String::new(),
            started: false,
        }
    }

    /// Serves requests until the client goes.
    pub fn serve(&mut self) -> Result<(), VtestError> {
        while let Some(request) = wire::read(&mut self.stream)? {
            self.handle(&request)?;
        }
        Ok(())
    }

    /// Gives back what the client had.
    pub fn close(&mut self) {
        if self.started
            && let Err(error) = self.front.destroy_context(self.ctx_id)
        {
            tracing::debug!(%error, "Context of a client that goes");
        }
        for res_id in self.resources.drain() {
            if let Err(error) = self.front.unref_resource(res_id) {
                tracing::debug!(%error, "Resource of a client that goes");
            }
        }
    }

    fn handle(&mut self, request: &Request) -> Result<(), VtestError> {
        match request.command {
            wire::CREATE_RENDERER => {
                let bytes: Vec<u8> = request.body.iter().flat_map(|w| w.to_le_bytes()).collect();
                let name = String::from_utf8_lossy(&bytes);
                self.name = name.trim_end_matches('\0').chars().take(64).collect();
            }
            wire::PING_PROTOCOL_VERSION => self.reply(request, &[])?,
            wire::BUSY_WAIT => self.reply(request, &[0])?,
            wire::PROTOCOL_VERSION => {
                self.reply(request, &[request.word(0)?.min(wire::VERSION)])?;
            }
            wire::GET_PARAM => {
                let answer = match request.word(0)? {
                    wire::PARAM_MAX_TIMELINE_COUNT => [1, 64],
                    _ => [0, 0],
                };
                self.reply(request, &answer)?;
            }
            wire::GET_CAPSET => {
                let mut answer = vec![u32::from(request.word(0)? == wire::CAPSET_VENUS)];
                if answer[0] == 1 {
                    answer.extend(
                        self.front
                            .capset()
                            .chunks_exact(4)
                            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])),
                    );
                }
                self.reply(request, &answer)?;
            }
            wire::CONTEXT_INIT => {
                if self.started || request.word(0)? != wire::CAPSET_VENUS {
                    return Err(request.error("a second context, or another kind than Venus"));
                }
                self.front
                    .create_context_of(self.guest, self.ctx_id, &self.name)?;
                self.started = true;
            }
            wire::CREATE_BLOB => self.create_blob(request)?,
            wire::RES_UNREF => {
                let res_id = request.word(0)?;
                if self.hollow.remove(&res_id) {
                    return Ok(());
                }
                if !self.resources.remove(&res_id) {
                    return Err(request.error(format!("no resource {res_id}")));
                }
                self.front.detach_resource(self.ctx_id, res_id)?;
                self.front.unref_resource(res_id)?;
            }
            wire::SYNC_CREATE => {
                let id = self
                    .syncs
                    .create(request.long(0)?)
                    .ok_or_else(|| request.error("too many syncs"))?;
                self.reply(request, &[id])?;
            }
            wire::SYNC_UNREF => {
                if !self.syncs.unref(request.word(0)?) {
                    return Err(request.error("no such sync"));
                }
            }
            wire::SYNC_READ => {
                let value = self
                    .syncs
                    .read(request.word(0)?)
                    .ok_or_else(|| request.error("no such sync"))?;
                self.reply(request, &[value as u32, (value >> 32) as u32])?;
            }
            wire::SYNC_WRITE => {
                if !self.syncs.write(request.word(0)?, request.long(1)?) {
                    return Err(request.error("no such sync"));
                }
            }
            wire::SYNC_WAIT => {
                let any = request.word(0)? & 1 != 0;
                let wanted = triples(request, 2, request.body.len().saturating_sub(2) / 3)?;
                let event = self.syncs.wait(any, wanted)?;
                self.reply(request, &[])?;
                wire::send_fd(&self.stream, event.as_fd())?;
            }
            wire::SUBMIT_CMD2 => self.submit(request)?,
            other => {
                return Err(request.error(format!("{other} is not known")));
            }
        }
        Ok(())
    }

    fn reply(&mut self, request: &Request, body: &[u32]) -> Result<(), VtestError> {
        wire::reply(&mut self.stream, request.command, body)
    }

    fn create_blob(&mut self, request: &Request) -> Result<(), VtestError> {
        if request.word(0)? != wire::BLOB_HOST3D {
            return Err(request.error("not a blob of the host"));
        }
        if !self.started {
            return Err(request.error("no context"));
        }
        let (size, blob_id) = (request.long(2)?, request.long(4)?);
        let res_id = NEXT_RESOURCE.fetch_add(1, Ordering::Relaxed);
        let blob = self
            .front
            .create_vtest_blob(self.ctx_id, res_id, blob_id, size);
        match blob {
            Ok(blob) => {
                self.resources.insert(res_id);
                self.reply(request, &[res_id])?;
                wire::send_fd(&self.stream, blob.file.as_fd())
            }
            Err(FrontError::OutOfMemory(_)) if blob_id != 0 && self.hollow.len() < HOLLOW_MAX => {
                // The protocol knows no errors. Nothing of this can be mapped, and Mesa tells its program so.
                let (end, _) = pipe2(OFlag::O_CLOEXEC).map_err(std::io::Error::from)?;
                self.hollow.insert(res_id);
                self.reply(request, &[res_id])?;
                wire::send_fd(&self.stream, end.as_fd())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn submit(&mut self, request: &Request) -> Result<(), VtestError> {
        let count = request.word(0)?;
        if count == 0 {
            return Ok(());
        }
        if count > BATCHES_MAX {
            return Err(request.error(format!("{count} batches")));
        }
        // Headers have 6 or 8 dwords, whatever version was answered; the first batch's commands
        // start right behind them.
        let first = request.word(2)? as usize;
        let stride = match first.checked_sub(1).map(|len| len / count as usize) {
            Some(stride @ (6 | 8)) => stride,
            _ => return Err(request.error("a batch header of unknown size")),
        };
        for batch in 0..count as usize {
            let at = 1 + batch * stride;
            let flags = request.word(at)?;
            let (start, len) = (
                request.word(at + 1)? as usize,
                request.word(at + 2)? as usize,
            );
            let (sync_start, syncs) = (request.word(at + 3)? as usize, request.word(at + 4)?);
            let ring_idx = if flags & 1 != 0 {
                request.word(at + 5)?
            } else {
                0
            };
            let commands = start
                .checked_add(len)
                .and_then(|end| request.body.get(start..end))
                .ok_or_else(|| request.error("commands out of range"))?;
            if !commands.is_empty() {
                let bytes: Vec<u8> = commands.iter().flat_map(|w| w.to_le_bytes()).collect();
                self.front.submit(self.ctx_id, &bytes)?;
            }
            if syncs > 0 {
                let raises = triples(request, sync_start, syncs as usize)?;
                let fence = self
                    .syncs
                    .add_fence(raises)
                    .ok_or_else(|| request.error("no such sync, or too many fences"))?;
                self.front.create_fence(self.ctx_id, ring_idx, fence)?;
            }
        }
        Ok(())
    }
}

/// `count` triples of (id, 64-bit value) at dword `at`.
fn triples(request: &Request, at: usize, count: usize) -> Result<Vec<(u32, u64)>, VtestError> {
    let end = count.checked_mul(3).and_then(|len| at.checked_add(len));
    if end.is_none_or(|end| end > request.body.len()) {
        return Err(request.error("syncs out of range"));
    }
    (0..count)
        .map(|index| {
            let at = at + index * 3;
            Ok((request.word(at)?, request.long(at + 1)?))
        })
        .collect()
}
