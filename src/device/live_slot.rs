//! A deferred request in the live tables: a slot of 128 bytes.

use crate::pending::{CONTROL, Chain, Pending, Waiting};
use crate::protocol::{HEADER_LEN, Header, Refusal, Reply, Segment};

/// Length of a slot, bytes. The first word is its state and not ours.
pub const SLOT_LEN: usize = 128;
/// Response bytes that a slot holds: all that waits for a fence is shorter.
const SLOT_REPLY_LEN: usize = 16;
/// Segments for the response that a slot holds.
const SLOT_SEGMENTS: usize = 4;

/// Kinds of waiting, as slots have them.
mod waiting {
    pub const FENCE: u32 = 1;
    pub const DISPLAY_INFO: u32 = 2;
    pub const EDID: u32 = 3;
    pub const QUEUE: u32 = 4;
}

/// A slot's bytes; the first word, its state, is left out.
pub fn encode_slot(pending: &Pending) -> [u8; SLOT_LEN] {
    let header = &pending.header;
    let (kind, a, b, fence_id) = match pending.waiting {
        Waiting::Fence {
            ctx_id,
            ring_idx,
            fence_id,
        } => (waiting::FENCE, ctx_id, ring_idx, fence_id),
        Waiting::Edid { scanout_id } => (waiting::EDID, scanout_id, 0, 0),
        Waiting::DisplayInfo => (waiting::DISPLAY_INFO, 0, 0, 0),
        Waiting::Queue(_) => (waiting::QUEUE, 0, 0, 0),
    };
    let (reply_kind, body) = match &pending.waiting {
        Waiting::Queue(response) => split_response(response),
        _ => (pending.reply_kind, &pending.reply_body[..]),
    };
    // Nothing longer waits, but for capsets that somebody fences: an error does there.
    let (reply_kind, body) = if body.len() <= SLOT_REPLY_LEN {
        (reply_kind, body)
    } else {
        (Refusal::Unspecified as u32, &[][..])
    };
    let segments = &pending.chain.segments;
    let segments = &segments[..segments.len().min(SLOT_SEGMENTS)];
    let mut bytes = [0; SLOT_LEN];
    let mut at = 4;
    let mut put = |value: &[u8]| {
        bytes[at..at + value.len()].copy_from_slice(value);
        at += value.len();
    };
    for word in [kind, a, b] {
        put(&word.to_le_bytes());
    }
    put(&fence_id.to_le_bytes());
    for word in [header.kind, header.flags, header.ctx_id] {
        put(&word.to_le_bytes());
    }
    put(&header.fence_id.to_le_bytes());
    put(&u32::from(header.ring_idx).to_le_bytes());
    put(&reply_kind.to_le_bytes());
    put(&[body.len() as u8, segments.len() as u8, 0, 0]);
    let mut reply = [0; SLOT_REPLY_LEN];
    reply[..body.len()].copy_from_slice(body);
    put(&reply);
    for segment in segments {
        put(&segment.addr.to_le_bytes());
        put(&segment.len.to_le_bytes());
    }
    bytes
}

/// Type of a response, and what follows its header.
fn split_response(response: &[u8]) -> (u32, &[u8]) {
    let kind = response
        .first_chunk::<4>()
        .map_or(Refusal::Unspecified as u32, |kind| {
            u32::from_le_bytes(*kind)
        });
    (kind, response.get(HEADER_LEN..).unwrap_or(&[]))
}

/// Reads what [`encode_slot`] wrote. It may be anything.
///
/// # Errors
/// What is wrong with it.
pub fn decode_slot(head: u16, bytes: &[u8; SLOT_LEN]) -> Result<Pending, String> {
    let word = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[at..at + 4]);
        u32::from_le_bytes(word)
    };
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let (reply_len, segments) = (usize::from(bytes[52]), usize::from(bytes[53]));
    if reply_len > SLOT_REPLY_LEN || segments > SLOT_SEGMENTS {
        return Err("A slot is longer than it can be".into());
    }
    let header = Header {
        kind: word(24),
        flags: word(28),
        ctx_id: word(32),
        fence_id: long(36),
        ring_idx: word(44) as u8,
    };
    let reply = Reply {
        kind: word(48),
        body: bytes[56..56 + reply_len].to_vec(),
    };
    let waiting = match word(4) {
        waiting::FENCE => Waiting::Fence {
            ctx_id: word(8),
            ring_idx: word(12),
            fence_id: long(16),
        },
        waiting::DISPLAY_INFO => Waiting::DisplayInfo,
        waiting::EDID => Waiting::Edid {
            scanout_id: word(8),
        },
        waiting::QUEUE => Waiting::Queue(header.answer(&Ok(reply.clone()))),
        other => return Err(format!("A slot waits for {other}")),
    };
    let segments = (0..segments)
        .map(|index| 72 + index * 12)
        .map(|at| Segment {
            addr: long(at),
            len: word(at + 8),
        })
        .collect();
    Ok(Pending {
        chain: Chain {
            queue: CONTROL,
            head,
            segments,
        },
        header,
        waiting,
        reply_kind: reply.kind,
        reply_body: reply.body,
    })
}
