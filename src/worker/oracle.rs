//! The oracle: after each submission, does everything that changed carry a mark?

use std::collections::HashMap;

use hesper_audit::dirty::CHUNK_SIZE;
use hesper_audit::marks::Marks;
use hesper_audit::oracle::OracleError;

use crate::context::Context;
use crate::error::WorkerError;

impl Context {
    /// All device-local content, by memory id.
    fn all_content(&mut self) -> Result<HashMap<u64, Vec<u8>>, WorkerError> {
        let sizes: Vec<(u64, u64)> = self
            .tracker
            .device_memories()
            .map(|(id, map)| (id, map.size()))
            .collect();
        let mut all = HashMap::new();
        for (id, size) in sizes {
            let mut content = vec![0; size as usize];
            self.drain.read_back(id, |chunk, bytes| {
                let start = (chunk * CHUNK_SIZE) as usize;
                content[start..start + bytes.len()].copy_from_slice(bytes);
                Ok(())
            })?;
            all.insert(id, content);
        }
        Ok(all)
    }

    /// Hashes what the oracle does not know yet, before a submission runs.
    pub(crate) fn oracle_baseline(&mut self) -> Result<(), WorkerError> {
        if self.oracle.is_none() {
            return Ok(());
        }
        let all = self.all_content()?;
        let sizes: Vec<(u64, u64)> = all.iter().map(|(id, c)| (*id, c.len() as u64)).collect();
        if let Some(oracle) = &mut self.oracle {
            oracle
                .baseline(sizes, |id, offset, out| copy(&all, id, offset, out))
                .map_err(|error| WorkerError::Oracle(error.to_string()))?;
        }
        Ok(())
    }

    /// Checks all memory after submission `number`, which carried `marks`, has retired.
    pub(crate) fn check_oracle(&mut self, number: u64, marks: &Marks) -> Result<(), WorkerError> {
        let all = self.all_content()?;
        let Some(oracle) = &mut self.oracle else {
            return Ok(());
        };
        oracle.note(marks, format!("submission {number}"));
        let checked = oracle.check(|id, offset, out| copy(&all, id, offset, out));
        self.status.oracle_checked += 1;
        self.status.oracle_misses = oracle.counters().missed_chunks;
        match checked {
            Ok(()) => Ok(()),
            Err(OracleError::Missed(misses)) => {
                // Reported, and the context goes on: the count is what a test looks at.
                tracing::error!(%misses, "Oracle");
                Ok(())
            }
            Err(error) => Err(WorkerError::Oracle(error.to_string())),
        }
    }
}

fn copy(
    all: &HashMap<u64, Vec<u8>>,
    id: u64,
    offset: u64,
    out: &mut [u8],
) -> Result<(), std::io::Error> {
    let start = offset as usize;
    match all.get(&id) {
        Some(content) => {
            let end = (start + out.len()).min(content.len());
            out[..end - start].copy_from_slice(&content[start..end]);
        }
        // Freed since: its content is nobody's.
        None => out.fill(0),
    }
    Ok(())
}
