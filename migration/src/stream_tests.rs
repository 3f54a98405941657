//! The parser against the writer, and against damaged streams.

use super::*;
use crate::synth::{self, SynthBlock};

/// Keeps pages as a receiver would.
#[derive(Default)]
struct Memory {
    blocks: Vec<Block>,
    content: Vec<Vec<u8>>,
    pages: usize,
    zeros: usize,
}

impl Sink for Memory {
    fn blocks(&mut self, _machine: &str, blocks: &[Block]) -> Result<()> {
        self.blocks = blocks.to_vec();
        // A hostile list may claim terabytes; the tests look at small blocks only.
        self.content = blocks
            .iter()
            .map(|block| vec![0xff; block.len.min(1 << 20) as usize])
            .collect();
        Ok(())
    }

    fn page(&mut self, block: usize, offset: u64, bytes: &[u8; PAGE_BYTES]) -> Result<()> {
        assert!(offset < self.blocks[block].len);
        self.pages += 1;
        let from = offset as usize;
        if let Some(space) = self.content[block].get_mut(from..from + PAGE_BYTES) {
            space.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn zero(&mut self, block: usize, offset: u64) -> Result<()> {
        self.zeros += 1;
        self.page(block, offset, &[0; PAGE_BYTES])?;
        self.pages -= 1;
        Ok(())
    }
}

fn block(name: &str, pages: u64) -> Block {
    Block {
        name: name.into(),
        len: pages * PAGE_BYTES as u64,
    }
}

const DEVICE: &[u8] = b"\x04devices, an \0\x06 that is no end, and their end\0";

/// A first state: prefix, device state, description; with the content of its small blocks.
fn first_state() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (ram, bios, tables) = (
        block("pc.ram", 1000),
        block("pc.bios", 3),
        block("tables", 2),
    );
    let mut firmware = vec![7u8; 3 * PAGE_BYTES];
    firmware[PAGE_BYTES..2 * PAGE_BYTES].fill(0);
    let acpi: Vec<u8> = (0..2 * PAGE_BYTES).map(|at| (at / 7) as u8).collect();
    let mut bytes = Vec::new();
    let blocks = [
        SynthBlock {
            block: &ram,
            content: None,
        },
        SynthBlock {
            block: &bios,
            content: Some(&firmware),
        },
        SynthBlock {
            block: &tables,
            content: Some(&acpi),
        },
    ];
    synth::write_prefix(&mut bytes, "pc-q35-10.0", &blocks).expect("write to memory");
    bytes.extend_from_slice(DEVICE);
    let text = br#"{"configuration": {"a": 1}, "page_size": 4096, "devices": []}"#;
    bytes.push(section::DESCRIPTION);
    bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
    bytes.extend_from_slice(text);
    (bytes, firmware, acpi)
}

fn parse(bytes: &[u8]) -> Result<(Memory, Vec<u8>, String)> {
    let mut memory = Memory::default();
    let mut parser = Parser::new(bytes);
    let mut device = Vec::new();
    parser.header()?;
    parser.live(&mut memory)?;
    parser.first_device(&mut device)?;
    Ok((memory, device, parser.machine().to_owned()))
}

#[test]
fn live_synthesised_stream_returns_the_same_content() {
    let (bytes, firmware, acpi) = first_state();
    let (memory, device, machine) = parse(&bytes).expect("own stream");
    assert_eq!(machine, "pc-q35-10.0");
    assert_eq!(device, DEVICE);
    assert_eq!(memory.blocks.len(), 3);
    assert_eq!(memory.content[1], firmware);
    assert_eq!(memory.content[2], acpi);
    assert_eq!((memory.pages, memory.zeros), (4, 1));
}

#[test]
fn first_device_split_at_any_read_is_found() {
    /// Gives one byte at a time.
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(space.len()).min(1);
            space[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let (bytes, _, _) = first_state();
    let mut parser = Parser::new(Drip(&bytes));
    let mut device = Vec::new();
    parser.header().expect("header");
    parser.live(&mut Memory::default()).expect("live");
    parser.first_device(&mut device).expect("device");
    assert_eq!(device, DEVICE);
}

#[test]
fn first_device_bytes_behind_the_description_are_refused() {
    let (mut bytes, _, _) = first_state();
    bytes.push(0);
    assert!(matches!(parse(&bytes), Err(Error::Stream { .. })));
}

#[test]
fn live_cut_stream_ends_with_an_error() {
    let (bytes, _, _) = first_state();
    for len in 0..bytes.len() {
        assert!(parse(&bytes[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn live_damaged_stream_never_panics() {
    let (bytes, _, _) = first_state();
    let mut random = crate::rng::Rng::new(7);
    let mut refused = 0;
    for _ in 0..5000 {
        let mut damaged = bytes.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(damaged.len() as u64) as usize;
            damaged[at] = random.next() as u8;
        }
        refused += usize::from(parse(&damaged).is_err());
    }
    assert!(refused > 0);
}

/// A stream with one RAM section of the given records after a block list of one 4-page block.
fn with_records(records: &[u8]) -> Vec<u8> {
    let ram = block("ram", 4);
    let mut bytes = Vec::new();
    let blocks = [SynthBlock {
        block: &ram,
        content: None,
    }];
    synth::write_prefix(&mut bytes, "pc", &blocks).expect("write to memory");
    bytes.push(section::PART);
    bytes.extend_from_slice(&1u32.to_be_bytes());
    bytes.extend_from_slice(records);
    bytes
}

fn fault_of(bytes: &[u8]) -> String {
    match parse(bytes) {
        Err(Error::Stream { what, .. }) => what,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn page_past_its_block_is_refused() {
    let mut records = ((4 * PAGE_BYTES as u64) | ram::ZERO).to_be_bytes().to_vec();
    records.extend_from_slice(b"\x03ram\0");
    assert_eq!(fault_of(&with_records(&records)), "page past its block");
}

#[test]
fn page_without_a_block_is_refused() {
    let records = (ram::ZERO | ram::CONTINUE).to_be_bytes();
    assert_eq!(fault_of(&with_records(&records)), "page without a block");
}

#[test]
fn page_of_an_unknown_block_is_refused() {
    let mut records = ram::PAGE.to_be_bytes().to_vec();
    records.extend_from_slice(b"\x03rom");
    assert_eq!(
        fault_of(&with_records(&records)),
        "page of unknown block rom"
    );
}

#[test]
fn block_list_second_is_refused() {
    let records = ram::MEM_SIZE.to_be_bytes();
    assert_eq!(fault_of(&with_records(&records)), "second list of blocks");
}

#[test]
fn checkpoint_ram_and_device_are_read_in_turn() {
    let mut bytes = with_records(&[]);
    bytes.truncate(bytes.len() - 5);
    let mut parser = Parser::new(std::io::Cursor::new({
        bytes.push(section::EOF);
        for value in [message::REQUEST, message::VMSTATE_SEND] {
            bytes.extend_from_slice(&value.to_be_bytes());
        }
        bytes.push(section::END);
        bytes.extend_from_slice(&1u32.to_be_bytes());
        bytes.extend_from_slice(&(PAGE_BYTES as u64 | ram::PAGE).to_be_bytes());
        bytes.extend_from_slice(b"\x03ram");
        bytes.extend_from_slice(&[9; PAGE_BYTES]);
        bytes.extend_from_slice(&ram::EOS.to_be_bytes());
        bytes.push(section::FOOTER);
        bytes.extend_from_slice(&1u32.to_be_bytes());
        bytes.push(section::EOF);
        bytes.extend_from_slice(&message::VMSTATE_SIZE.to_be_bytes());
        bytes.extend_from_slice(&(DEVICE.len() as u64).to_be_bytes());
        bytes.extend_from_slice(DEVICE);
        bytes
    }));
    let mut memory = Memory::default();
    let mut device = Vec::new();
    parser.header().expect("header");
    parser
        .checkpoint_ram(&mut memory)
        .expect("first state's RAM");

    parser.expect(message::REQUEST).expect("request");
    parser.expect(message::VMSTATE_SEND).expect("send");
    parser.checkpoint_ram(&mut memory).expect("RAM");
    parser.expect(message::VMSTATE_SIZE).expect("size");
    parser.checkpoint_device(&mut device).expect("device");

    assert_eq!(memory.pages, 1);
    assert_eq!(
        memory.content[0][PAGE_BYTES..2 * PAGE_BYTES],
        [9; PAGE_BYTES]
    );
    assert_eq!(device, DEVICE);
    assert!(matches!(parser.message(), Err(Error::Ended(_))));
}

#[test]
fn dialect_ready_shuts_the_return_path_on_11_only() {
    assert_eq!(Dialect::of(10).ready(&[7]), [0, 0, 0, 0]);
    assert_eq!(
        Dialect::of(11).ready(&[7]),
        [0, 2, 0, 4, 0, 0, 0, 7, 0, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]
    );
}
