//! Which descriptors the entry points of a SPIR-V module may write.
//!
//! [`analyze`] answers for each entry point: the (set, binding) pairs it may store to, whether it may store through device
//! addresses, and whether it does anything that could not be followed. The answer errs on the side of too many writes: a
//! write it misses is data lost at the next checkpoint, one it invents only costs a copy.
//!
//! The method is a points-to analysis that looks at neither order nor context. Every variable with a descriptor behind it
//! is a *root*. Roots flow from operands to each result that can hold a pointer or an image, from arguments to parameters,
//! from returned values to calls, and through memory that holds pointers (one common cell stands for all of it). An
//! instruction that may write marks the roots of its operands as written by its function, and an entry point writes what
//! the functions it reaches write.

mod flow;
mod grammar;
mod module;
mod words;

#[cfg(test)]
mod tests;

pub use words::{ID_BOUND_MAX, MODULE_WORDS_MAX};

/// Why a module could not be analyzed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpirvError {
    #[error("Module of {words} words is shorter than its header")]
    TooShort { words: usize },
    #[error("Module of {words} words is longer than the limit of {MODULE_WORDS_MAX}")]
    TooLong { words: usize },
    #[error("Magic number {magic:#010x} is not that of SPIR-V")]
    BadMagic { magic: u32 },
    #[error("Id bound {bound} is not in 1..={ID_BOUND_MAX}")]
    BadBound { bound: u32 },
    #[error("Instruction at word {at} claims {words} words, which the module does not have")]
    BadLength { at: usize, words: usize },
    #[error("Instruction {opcode} at word {at} lacks an operand")]
    OperandMissing { at: usize, opcode: u16 },
    #[error("String of the instruction at word {at} is not closed or not UTF-8")]
    BadString { at: usize },
    #[error("Id {id} at word {at} is not below the bound {bound}")]
    IdOutOfBound { at: usize, id: u32, bound: u32 },
    #[error("Id {id} at word {at} is defined twice")]
    IdRedefined { at: usize, id: u32 },
    #[error("Instruction at word {at} stands outside of a function or a function is not closed")]
    BadFunctionNesting { at: usize },
    #[error("Entry point or call names function {function}, which the module does not define")]
    FunctionMissing { function: u32 },
    #[error("Function {function} calls itself, which SPIR-V forbids")]
    Recursion { function: u32 },
    #[error("Module has more {what} than the limit of {limit}")]
    TooMany { what: &'static str, limit: usize },
}

/// A descriptor binding as the shader names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingRef {
    /// Descriptor set number in the pipeline layout.
    pub set: u32,
    /// Binding number in the set.
    pub binding: u32,
}

/// What one entry point may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryPointWrites {
    /// Name of the entry point.
    pub name: String,
    /// Execution model, by its number in the SPIR-V specification (5 is GLCompute).
    pub execution_model: u32,
    /// Bindings that may be written, in order, each once. An array of descriptors counts as one binding.
    pub bindings: Vec<BindingRef>,
    /// May store through a device address: to every buffer that has one.
    pub addresses: bool,
    /// May write something that could not be followed: everything bound, and everything that has an address.
    pub unknown: bool,
}

/// What the entry points of a module may write, in the module's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleWrites {
    /// One element an entry point.
    pub entry_points: Vec<EntryPointWrites>,
}

impl ModuleWrites {
    /// The writes of the entry points called `name` with `execution_model`. Modules that name it twice get the union.
    pub fn entry_point(&self, name: &str, execution_model: u32) -> Option<EntryPointWrites> {
        let mut found: Option<EntryPointWrites> = None;
        for entry in &self.entry_points {
            if entry.name != name || entry.execution_model != execution_model {
                continue;
            }
            match &mut found {
                None => found = Some(entry.clone()),
                Some(sum) => {
                    sum.bindings.extend_from_slice(&entry.bindings);
                    sum.bindings.sort_unstable();
                    sum.bindings.dedup();
                    sum.addresses |= entry.addresses;
                    sum.unknown |= entry.unknown;
                }
            }
        }
        found
    }
}

/// Finds what each entry point of the module `code` (host byte order, magic number first) may write.
///
/// Takes time in proportion to the module's size times its number of descriptor variables, with a ceiling beyond which
/// the answer is "unknown".
///
/// # Errors
/// A module that is malformed in a way that matters here. The driver may accept such a module; the caller must not, since
/// its writes are not known.
pub fn analyze(code: &[u32]) -> Result<ModuleWrites, SpirvError> {
    let facts = module::ModuleFacts::collect(words::Module::new(code)?)?;
    flow::resolve(&facts, flow::STEPS_MAX)
}
