//! The agent's figures.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::source::{Figures, SharedQmp};
use crate::stream::PAGE_BYTES;

/// Pauses kept; their median and maximum are over these.
const PAUSES_MAX: usize = 4096;

/// What status tells.
#[derive(Debug, Default)]
pub struct Stats {
    /// When the last epoch was given to the link.
    pub shipped: Option<Instant>,
    /// Why the link ended the last time.
    pub link_loss: String,
    /// Why the stream ended the last time.
    pub stream_loss: String,
    epochs: u64,
    last: Figures,
    ack: Duration,
    pauses_us: VecDeque<u64>,
    stop_us: Option<u64>,
    bytes: u64,
    time: Duration,
}

impl Stats {
    /// An epoch is in memory.
    pub fn staged(&mut self, figures: Figures) {
        self.last = figures;
        self.bytes += figures.pages * PAGE_BYTES as u64 + figures.device;
        self.time += figures.took;
    }

    /// The epoch that was shipped last is acked.
    pub fn acked(&mut self) {
        self.epochs += 1;
        if let Some(begin) = self.shipped.take() {
            self.ack = begin.elapsed();
        }
    }

    /// Reads QEMU's own times of the pauses.
    pub fn take_pauses(&mut self, qmp: &SharedQmp) {
        for event in qmp.events_now() {
            match event.name.as_str() {
                "STOP" => self.stop_us = Some(event.time_us),
                "RESUME" => {
                    if let Some(stop) = self.stop_us.take() {
                        if self.pauses_us.len() >= PAUSES_MAX {
                            self.pauses_us.pop_front();
                        }
                        self.pauses_us.push_back(event.time_us.saturating_sub(stop));
                    }
                }
                _ => {}
            }
        }
    }

    /// All of it.
    pub fn to_json(&self) -> Value {
        let mut sorted: Vec<u64> = self.pauses_us.iter().copied().collect();
        sorted.sort_unstable();
        let seconds = self.time.as_secs_f64().max(1e-9);
        json!({
            "epochs": self.epochs,
            "last": {
                "pages": self.last.pages,
                "zeros": self.last.zeros,
                "device_bytes": self.last.device,
                "receive_us": self.last.took.as_micros() as u64,
                "stop_us": self.last.stop.as_micros() as u64,
                "ack_us": self.ack.as_micros() as u64,
            },
            "pause_us": {
                "count": sorted.len(),
                "last": self.pauses_us.back(),
                "median": sorted.get(sorted.len() / 2),
                "max": sorted.last(),
            },
            "receive_mb_s": (self.bytes as f64 / seconds / 1e6) as u64,
            "link_loss": self.link_loss,
            "stream_loss": self.stream_loss,
        })
    }
}
