//! Staging: bounded ahead of the link, and how fast.

use std::io::Write;

use super::*;
use crate::agent::link::Permits;
use crate::synth::{self, SynthBlock};

fn link() -> (Link, std::sync::mpsc::Receiver<Ship>) {
    let (ship, orders) = std::sync::mpsc::channel();
    let permits = Arc::new(Permits::new());
    let number = 1;
    let link = Link {
        number,
        ship,
        permits,
    };
    (link, orders)
}

/// One checkpoint's RAM of so many pages that are all different.
fn checkpoint(pages: usize) -> (Block, Vec<u8>) {
    let block = Block {
        name: "ram".into(),
        len: (pages * PAGE_BYTES) as u64,
    };
    let content: Vec<u8> = (0..pages * PAGE_BYTES / 4)
        .flat_map(|word| (word as u32 | 1 << 31).to_le_bytes())
        .collect();
    let mut bytes = Vec::new();
    let blocks = [SynthBlock {
        block: &block,
        content: Some(&content),
    }];
    synth::write_prefix(&mut bytes, "pc", &blocks).expect("to memory");
    bytes.push(0);
    (block, bytes)
}

#[test]
fn page_ahead_of_a_stalled_link_waits_until_it_is_gone() {
    let (link, orders) = link();
    let mut stage = Stage::new(link.clone(), Spare::default(), 0);
    let thread = thread::spawn(move || {
        let page = [1; PAGE_BYTES];
        for number in 0.. {
            if stage.page(0, number * PAGE_BYTES as u64, &page).is_err() {
                return number;
            }
        }
        0
    });
    let most = Duration::from_secs(10);
    for _ in 0..8 {
        orders.recv_timeout(most).expect("a batch");
    }
    let ninth = orders.recv_timeout(Duration::from_millis(200));
    assert!(ninth.is_err(), "no permit is left, and yet it came");
    link.permits.close();
    let pages = thread.join().expect("stops by itself");
    let batch = crate::batch::BATCH_BYTES / PAGE_BYTES;
    assert_eq!(pages as usize + 1, 9 * batch);
}

#[test]
fn checkpoint_small_epoch_is_staged_whole() {
    let (_, bytes) = checkpoint(3000);
    let (link, orders) = link();
    let mut stage = Stage::new(link, Spare::default(), u64::MAX);
    stage.ahead = false;
    let mut parser = Parser::new(&bytes[..]);
    parser.header().expect("header");
    parser.checkpoint_ram(&mut stage).expect("RAM");
    let staged = stage.take(vec![1]);
    let pages: usize = staged
        .batches
        .iter()
        .map(|b| b.data.len() / PAGE_BYTES)
        .sum();
    assert_eq!(pages, 3000);
    assert!(matches!(orders.try_recv(), Ok(Ship::SyncBegin(..))));
    assert!(orders.try_recv().is_err(), "nothing goes ahead");
}

/// A figure, not a check: run it with optimisation.
#[test]
#[ignore = "measures"]
fn staging_rate() {
    let (_, bytes) = checkpoint(64 << 10);
    let spare = Spare::default();
    for round in 0..5 {
        let (mut here, there) = UnixStream::pair().expect("a pair");
        let copy = bytes.clone();
        let writer = thread::spawn(move || here.write_all(&copy));
        let (link, _orders) = link();
        let mut stage = Stage::new(link, spare.clone(), u64::MAX);
        stage.ahead = false;
        let mut parser = Parser::new(there);
        parser.header().expect("header");
        let begin = Instant::now();
        parser.checkpoint_ram(&mut stage).expect("RAM");
        let took = begin.elapsed();
        let staged = stage.take(Vec::new());
        for batch in staged.batches {
            spare.give(batch);
        }
        writer.join().expect("writer").expect("written");
        let rate = bytes.len() as f64 / took.as_secs_f64() / 1e9;
        eprintln!("round {round}: {rate:.2} GB/s");
    }
}
