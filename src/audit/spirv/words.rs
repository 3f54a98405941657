//! The framing of a SPIR-V module: header, instructions, strings.
//!
//! `rspirv`'s own parser panics on strings cut short and refuses what it does not know, so that only its grammar and its
//! enumerations are used here; the walk over the words is ours and bounded. Source: SPIR-V specification 1.6, section 2.3.

use rspirv::spirv;

use super::SpirvError;

/// Most words a module may have: 16 MiB of code.
pub const MODULE_WORDS_MAX: usize = 4 << 20;
/// Most ids a module may have (universal limit of the SPIR-V specification, section 2.17).
pub const ID_BOUND_MAX: u32 = 4_194_303;

const HEADER_WORDS: usize = 5;

/// One instruction, borrowed from the module's words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'a> {
    /// Position of the first word in the module, in words.
    pub at: usize,
    /// The opcode's number.
    pub opcode: u16,
    /// The words after the first one.
    pub operands: &'a [u32],
}

impl Instruction<'_> {
    /// Operand word `index`, or an error when the instruction is too short for it.
    pub fn word(&self, index: usize) -> Result<u32, SpirvError> {
        self.operands
            .get(index)
            .copied()
            .ok_or(SpirvError::OperandMissing {
                at: self.at,
                opcode: self.opcode,
            })
    }

    pub fn is(&self, op: spirv::Op) -> bool {
        u32::from(self.opcode) == op as u32
    }

    /// The literal string that starts at operand word `index`.
    pub fn string(&self, index: usize) -> Result<String, SpirvError> {
        let mut bytes = Vec::new();
        for word in self.operands.get(index..).unwrap_or(&[]) {
            for byte in word.to_le_bytes() {
                if byte == 0 {
                    return String::from_utf8(bytes)
                        .map_err(|_| SpirvError::BadString { at: self.at });
                }
                bytes.push(byte);
            }
        }
        Err(SpirvError::BadString { at: self.at })
    }
}

/// A module whose framing was checked: every instruction lies wholly inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module<'a> {
    code: &'a [u32],
    /// Every id is less than this.
    pub bound: u32,
}

impl<'a> Module<'a> {
    /// Checks the header and the length of every instruction.
    pub fn new(code: &'a [u32]) -> Result<Self, SpirvError> {
        if code.len() < HEADER_WORDS {
            return Err(SpirvError::TooShort { words: code.len() });
        }
        if code.len() > MODULE_WORDS_MAX {
            return Err(SpirvError::TooLong { words: code.len() });
        }
        if code[0] != spirv::MAGIC_NUMBER {
            return Err(SpirvError::BadMagic { magic: code[0] });
        }
        let bound = code[3];
        if bound == 0 || bound > ID_BOUND_MAX {
            return Err(SpirvError::BadBound { bound });
        }
        let mut at = HEADER_WORDS;
        while at < code.len() {
            let count = (code[at] >> 16) as usize;
            if count == 0 || count > code.len() - at {
                return Err(SpirvError::BadLength { at, words: count });
            }
            at += count;
        }
        Ok(Self { code, bound })
    }

    /// The instructions in order.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'a>> + use<'a> {
        let code = self.code;
        let mut at = HEADER_WORDS;
        std::iter::from_fn(move || {
            let first = *code.get(at)?;
            let count = (first >> 16) as usize;
            // `new` checked every length, so that neither the range nor the progress can fail here.
            let operands = code.get(at + 1..at + count)?;
            let instruction = Instruction {
                at,
                opcode: (first & 0xffff) as u16,
                operands,
            };
            at += count;
            Some(instruction)
        })
    }
}
