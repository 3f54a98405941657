//! First and second pass: what ids stand for, and the edges and writes of the function bodies.

use std::collections::{HashMap, HashSet};

use rspirv::spirv::{Decoration, Op};

use super::grammar::{ClassReach, class_reach, facts};
use super::words::{Instruction, Module};
use super::{BindingRef, SpirvError};

/// Most entry points of a module.
pub(super) const ENTRY_POINTS_MAX: usize = 1024;
/// Most functions of a module.
pub(super) const FUNCTIONS_MAX: usize = 1 << 16;

/// The id that stands for all memory that holds pointers. No instruction can define id 0.
pub(super) const POINTERS_IN_MEMORY: u32 = 0;

/// What values of a type can lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeKind {
    /// Not a type, or not defined (yet): the most careful reading.
    Undefined,
    /// Numbers and whatever else nobody can write through.
    Plain,
    /// A pointer into invocation-local memory. What it points to may hold pointers.
    LocalPointer,
    /// A pointer or handle that leads to descriptors.
    Carrier,
    /// A device address with a type.
    Address,
}

impl TypeKind {
    /// Whether roots flow into a value of this type.
    pub fn carries(self) -> bool {
        match self {
            TypeKind::Undefined | TypeKind::LocalPointer | TypeKind::Carrier => true,
            TypeKind::Plain | TypeKind::Address => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct EntryPoint {
    pub name: String,
    pub execution_model: u32,
    /// Index into the functions.
    pub function: u32,
}

#[derive(Debug, Default)]
pub(super) struct Function {
    pub id: u32,
    /// Indices of functions it calls; may repeat.
    pub calls: Vec<u32>,
    pub addresses: bool,
    pub unknown: bool,
}

/// A variable that descriptors stand behind.
#[derive(Debug)]
pub(super) struct Root {
    pub id: u32,
    /// None: the decorations do not say, or contradict each other.
    pub binding: Option<BindingRef>,
}

/// An id through which a function may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Write {
    pub id: u32,
    /// Index into the functions.
    pub function: u32,
    /// When no root reaches the id, the write goes somewhere unknown.
    pub needs_root: bool,
}

/// All that the flow needs.
#[derive(Debug)]
pub(super) struct ModuleFacts {
    pub bound: u32,
    pub entry_points: Vec<EntryPoint>,
    pub functions: Vec<Function>,
    pub roots: Vec<Root>,
    /// (from, to) pairs: the roots of `from` are also roots of `to`.
    pub edges: Vec<(u32, u32)>,
    pub writes: Vec<Write>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BindingDecoration {
    set: Option<u32>,
    binding: Option<u32>,
    conflict: bool,
}

impl BindingDecoration {
    fn apply(&mut self, other: BindingDecoration) {
        for (mine, theirs) in [
            (&mut self.set, other.set),
            (&mut self.binding, other.binding),
        ] {
            match (*mine, theirs) {
                (Some(a), Some(b)) if a != b => self.conflict = true,
                (None, Some(_)) => *mine = theirs,
                _ => {}
            }
        }
        self.conflict |= other.conflict;
    }
}

struct Collector<'a> {
    module: Module<'a>,
    /// By id; the kind of a type, `Undefined` for everything else.
    kinds: Vec<TypeKind>,
    /// By id; the type of a value, 0 for everything else.
    value_types: Vec<u32>,
    /// By id; 1 + the index of the function, 0 for everything else.
    function_index: Vec<u32>,
    parameters: Vec<Vec<u32>>,
    decorations: HashMap<u32, BindingDecoration>,
    /// Instruction sets that only carry debug information.
    quiet_sets: HashSet<u32>,
    facts: ModuleFacts,
}

impl ModuleFacts {
    /// Reads the whole module, twice: uses may come before definitions.
    pub fn collect(module: Module<'_>) -> Result<Self, SpirvError> {
        let size = module.bound as usize;
        let mut collector = Collector {
            module,
            kinds: vec![TypeKind::Undefined; size],
            value_types: vec![0; size],
            function_index: vec![0; size],
            parameters: Vec::new(),
            decorations: HashMap::new(),
            quiet_sets: HashSet::new(),
            facts: ModuleFacts {
                bound: module.bound,
                entry_points: Vec::new(),
                functions: Vec::new(),
                roots: Vec::new(),
                edges: Vec::new(),
                writes: Vec::new(),
            },
        };
        collector.declarations()?;
        collector.bodies()?;
        for root in &mut collector.facts.roots {
            let decoration = collector
                .decorations
                .get(&root.id)
                .copied()
                .unwrap_or_default();
            root.binding = match (decoration.set, decoration.binding, decoration.conflict) {
                (Some(set), Some(binding), false) => Some(BindingRef { set, binding }),
                _ => None,
            };
        }
        Ok(collector.facts)
    }
}

impl Collector<'_> {
    fn checked_id(&self, instruction: &Instruction<'_>, id: u32) -> Result<u32, SpirvError> {
        if id == 0 || id >= self.module.bound {
            return Err(SpirvError::IdOutOfBound {
                at: instruction.at,
                id,
                bound: self.module.bound,
            });
        }
        Ok(id)
    }

    fn id(&self, instruction: &Instruction<'_>, index: usize) -> Result<u32, SpirvError> {
        self.checked_id(instruction, instruction.word(index)?)
    }

    fn kind_of_type(&self, id: u32) -> TypeKind {
        self.kinds
            .get(id as usize)
            .copied()
            .unwrap_or(TypeKind::Undefined)
    }

    fn type_of_value(&self, id: u32) -> Option<u32> {
        self.value_types
            .get(id as usize)
            .copied()
            .filter(|id| *id != 0)
    }

    /// Kind of the type of value `id`; None when `id` is no value with a type.
    fn kind_of_value(&self, id: u32) -> Option<TypeKind> {
        Some(self.kind_of_type(self.type_of_value(id)?))
    }

    /// First pass: types, variables, decorations, functions, the type of every value.
    fn declarations(&mut self) -> Result<(), SpirvError> {
        // (type of entry point, function id) until the functions are known.
        let mut entries: Vec<(String, u32, u32)> = Vec::new();
        let mut groups: Vec<(u32, u32)> = Vec::new();
        let mut function: Option<u32> = None;
        let mut last_at = 0;
        for instruction in self.module.instructions() {
            last_at = instruction.at;
            let op = facts(instruction.opcode);
            let result = match (op.has_type, op.has_result) {
                (true, true) => instruction.operands.get(1).copied(),
                (false, true) => instruction.operands.first().copied(),
                _ => None,
            };
            if op.known && op.has_result {
                // The words must be there: a value without an id could not be followed.
                let index = usize::from(op.has_type);
                self.id(&instruction, index)?;
            }
            if let Some(result) = result.filter(|id| *id != 0 && *id < self.module.bound) {
                if op.has_type {
                    let type_id = instruction.word(0)?;
                    if op.known {
                        self.checked_id(&instruction, type_id)?;
                        if self.value_types[result as usize] != 0 {
                            return Err(SpirvError::IdRedefined {
                                at: instruction.at,
                                id: result,
                            });
                        }
                    }
                    if self.value_types[result as usize] == 0 {
                        self.value_types[result as usize] = type_id;
                    }
                } else if op.known && !instruction.is(Op::Label) {
                    let kind = self.type_kind(&instruction)?;
                    if self.kinds[result as usize] != TypeKind::Undefined {
                        return Err(SpirvError::IdRedefined {
                            at: instruction.at,
                            id: result,
                        });
                    }
                    self.kinds[result as usize] = kind;
                }
            }
            self.declaration(&instruction, &mut entries, &mut groups, &mut function)?;
        }
        if function.is_some() {
            return Err(SpirvError::BadFunctionNesting { at: last_at });
        }
        for (group, target) in groups {
            if let Some(decoration) = self.decorations.get(&group).copied() {
                self.decorations
                    .entry(target)
                    .or_default()
                    .apply(decoration);
            }
        }
        for (name, execution_model, id) in entries {
            let function = self
                .function_by_id(id)
                .ok_or(SpirvError::FunctionMissing { function: id })?;
            self.facts.entry_points.push(EntryPoint {
                name,
                execution_model,
                function,
            });
        }
        Ok(())
    }

    fn declaration(
        &mut self,
        instruction: &Instruction<'_>,
        entries: &mut Vec<(String, u32, u32)>,
        groups: &mut Vec<(u32, u32)>,
        function: &mut Option<u32>,
    ) -> Result<(), SpirvError> {
        match Op::from_u32(u32::from(instruction.opcode)) {
            Some(Op::EntryPoint) => {
                if entries.len() == ENTRY_POINTS_MAX {
                    return Err(SpirvError::TooMany {
                        what: "entry points",
                        limit: ENTRY_POINTS_MAX,
                    });
                }
                entries.push((
                    instruction.string(2)?,
                    instruction.word(0)?,
                    self.id(instruction, 1)?,
                ));
            }
            Some(Op::ExtInstImport) if instruction.string(1)?.starts_with("NonSemantic.") => {
                self.quiet_sets.insert(self.id(instruction, 0)?);
            }
            Some(Op::Decorate) => {
                let target = instruction.word(0)?;
                let mut decoration = BindingDecoration::default();
                match Decoration::from_u32(instruction.word(1)?) {
                    Some(Decoration::DescriptorSet) => decoration.set = Some(instruction.word(2)?),
                    Some(Decoration::Binding) => decoration.binding = Some(instruction.word(2)?),
                    _ => return Ok(()),
                }
                self.decorations
                    .entry(target)
                    .or_default()
                    .apply(decoration);
            }
            Some(Op::GroupDecorate) => {
                let group = instruction.word(0)?;
                groups.extend(
                    instruction.operands[1..]
                        .iter()
                        .map(|target| (group, *target)),
                );
            }
            Some(Op::Variable | Op::UntypedVariableKHR) => {
                let id = self.id(instruction, 1)?;
                let initializer = match instruction.is(Op::Variable) {
                    true => instruction.operands.get(3),
                    false => instruction.operands.get(4),
                };
                if let Some(initializer) = initializer {
                    self.facts.edges.push((*initializer, POINTERS_IN_MEMORY));
                }
                if class_reach(instruction.word(2)?) != ClassReach::Local {
                    self.facts.roots.push(Root { id, binding: None });
                }
            }
            Some(Op::Function) => {
                if function.is_some() {
                    return Err(SpirvError::BadFunctionNesting { at: instruction.at });
                }
                if self.facts.functions.len() == FUNCTIONS_MAX {
                    return Err(SpirvError::TooMany {
                        what: "functions",
                        limit: FUNCTIONS_MAX,
                    });
                }
                let id = self.id(instruction, 1)?;
                let index = self.facts.functions.len() as u32;
                self.function_index[id as usize] = index + 1;
                self.facts.functions.push(Function {
                    id,
                    ..Function::default()
                });
                self.parameters.push(Vec::new());
                *function = Some(index);
            }
            Some(Op::FunctionParameter) => {
                let index =
                    function.ok_or(SpirvError::BadFunctionNesting { at: instruction.at })?;
                let id = self.id(instruction, 1)?;
                self.parameters[index as usize].push(id);
            }
            Some(Op::FunctionEnd) => {
                function
                    .take()
                    .ok_or(SpirvError::BadFunctionNesting { at: instruction.at })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Kind of the type that `instruction` defines, `Undefined` when it defines something else.
    fn type_kind(&self, instruction: &Instruction<'_>) -> Result<TypeKind, SpirvError> {
        let Some(op) = Op::from_u32(u32::from(instruction.opcode)) else {
            return Ok(TypeKind::Undefined);
        };
        Ok(match op {
            Op::TypeVoid
            | Op::TypeBool
            | Op::TypeInt
            | Op::TypeFloat
            | Op::TypeVector
            | Op::TypeMatrix
            | Op::TypeSampler
            | Op::TypeFunction
            | Op::TypeAccelerationStructureKHR
            | Op::TypeRayQueryKHR
            | Op::TypeHitObjectNV
            | Op::TypeCooperativeMatrixKHR
            | Op::TypeCooperativeMatrixNV
            | Op::TypeCooperativeVectorNV
            | Op::TypeTensorLayoutNV
            | Op::TypeTensorViewNV => TypeKind::Plain,
            Op::TypePointer | Op::TypeUntypedPointerKHR => {
                match class_reach(instruction.word(1)?) {
                    ClassReach::Local => TypeKind::LocalPointer,
                    ClassReach::Address => TypeKind::Address,
                    ClassReach::Descriptor | ClassReach::Unknown => TypeKind::Carrier,
                }
            }
            Op::TypeArray | Op::TypeRuntimeArray => self.aggregate(&[instruction.word(1)?]),
            Op::TypeStruct => self.aggregate(&instruction.operands[1..]),
            _ => TypeKind::Carrier,
        })
    }

    /// A composite carries what a member carries. Members are defined before it, so that nothing here recurs.
    fn aggregate(&self, members: &[u32]) -> TypeKind {
        let carries = members
            .iter()
            .any(|member| self.kind_of_type(*member).carries());
        if carries {
            TypeKind::Carrier
        } else {
            TypeKind::Plain
        }
    }

    fn function_by_id(&self, id: u32) -> Option<u32> {
        self.function_index.get(id as usize)?.checked_sub(1)
    }

    /// Second pass: what flows where, and what is written.
    fn bodies(&mut self) -> Result<(), SpirvError> {
        let mut function: Option<u32> = None;
        for instruction in self.module.instructions() {
            if instruction.is(Op::Function) {
                function = self.function_by_id(instruction.word(1)?);
                continue;
            }
            if instruction.is(Op::FunctionEnd) {
                function = None;
                continue;
            }
            match function {
                Some(function) => self.body_instruction(function, &instruction)?,
                // Constants and the like can hold pointers, too.
                None => self.flow_to_result(&instruction),
            }
        }
        Ok(())
    }

    fn body_instruction(
        &mut self,
        function: u32,
        instruction: &Instruction<'_>,
    ) -> Result<(), SpirvError> {
        let op = facts(instruction.opcode);
        if op.calls_back {
            self.facts.functions[function as usize].unknown = true;
        }
        match Op::from_u32(u32::from(instruction.opcode)) {
            Some(Op::FunctionCall) => return self.call(function, instruction),
            Some(Op::Store) => {
                let (pointer, value) = (instruction.word(0)?, instruction.word(1)?);
                self.write(function, pointer);
                if self.kind_of_value(value).is_none_or(TypeKind::carries) {
                    self.facts.edges.push((value, POINTERS_IN_MEMORY));
                }
            }
            // The source is only read; a pointer it holds is in the common cell already, one behind it is not.
            Some(Op::CopyMemory | Op::CopyMemorySized) => {
                let (target, source) = (instruction.word(0)?, instruction.word(1)?);
                self.write(function, target);
                self.facts.edges.push((source, POINTERS_IN_MEMORY));
            }
            Some(Op::ReturnValue) => {
                let id = self.facts.functions[function as usize].id;
                self.facts.edges.push((instruction.word(0)?, id));
            }
            Some(Op::ConvertPtrToU | Op::Bitcast) => {
                let (result_type, operand) = (instruction.word(0)?, instruction.word(2)?);
                let from = self.kind_of_value(operand).unwrap_or(TypeKind::Undefined);
                let to = self.kind_of_type(result_type);
                // A pointer to a descriptor that became a number is out of sight.
                if matches!(from, TypeKind::Carrier | TypeKind::Undefined) && !to.carries() {
                    self.facts.functions[function as usize].unknown = true;
                }
            }
            Some(Op::ExtInst) => {
                if self.quiet_sets.contains(&instruction.word(2)?) {
                    return Ok(());
                }
                self.write_operands(function, instruction.operands.get(4..).unwrap_or(&[]));
            }
            _ if op.reads_only => {}
            _ => {
                let skip = usize::from(op.has_type) + usize::from(op.has_result);
                // An opcode nobody knows may have no result at all.
                let skip = if op.known { skip } else { 0 };
                self.write_operands(function, instruction.operands.get(skip..).unwrap_or(&[]));
            }
        }
        self.flow_to_result(instruction);
        Ok(())
    }

    fn call(&mut self, function: u32, instruction: &Instruction<'_>) -> Result<(), SpirvError> {
        let callee_id = instruction.word(2)?;
        let callee = self
            .function_by_id(callee_id)
            .ok_or(SpirvError::FunctionMissing {
                function: callee_id,
            })?;
        self.facts.functions[function as usize].calls.push(callee);
        let arguments = &instruction.operands[3..];
        let parameters = &self.parameters[callee as usize];
        for (argument, parameter) in arguments.iter().zip(parameters) {
            self.facts.edges.push((*argument, *parameter));
        }
        if arguments.len() != parameters.len() {
            self.facts.functions[function as usize].unknown = true;
        }
        self.facts.edges.push((callee_id, instruction.word(1)?));
        Ok(())
    }

    fn write_operands(&mut self, function: u32, operands: &[u32]) {
        for operand in operands {
            // A number cannot be written through; most operands are numbers.
            if self
                .kind_of_value(*operand)
                .is_some_and(|kind| kind != TypeKind::Plain)
            {
                self.write(function, *operand);
            }
        }
    }

    fn write(&mut self, function: u32, id: u32) {
        let needs_root = match self.kind_of_value(id) {
            Some(TypeKind::Address) => {
                self.facts.functions[function as usize].addresses = true;
                return;
            }
            Some(TypeKind::LocalPointer) => false,
            Some(TypeKind::Carrier | TypeKind::Undefined | TypeKind::Plain) | None => true,
        };
        self.facts.writes.push(Write {
            id,
            function,
            needs_root,
        });
    }

    /// Roots flow from every operand to a result that can carry them; a load also takes the pointers that memory holds.
    fn flow_to_result(&mut self, instruction: &Instruction<'_>) {
        let op = facts(instruction.opcode);
        if !op.has_type || !op.has_result {
            return;
        }
        let (Some(result_type), Some(result)) =
            (instruction.operands.first(), instruction.operands.get(1))
        else {
            return;
        };
        if !self.kind_of_type(*result_type).carries() {
            return;
        }
        let operands = match Op::from_u32(u32::from(instruction.opcode)) {
            // A variable is a source of its own; the literals of the others could look like ids.
            Some(Op::Variable | Op::UntypedVariableKHR) => return,
            Some(Op::Load | Op::CompositeExtract) => instruction.operands.get(2..3).unwrap_or(&[]),
            _ => &instruction.operands[2..],
        };
        for operand in operands {
            if self
                .kind_of_value(*operand)
                .is_none_or(|kind| kind != TypeKind::Plain)
            {
                self.facts.edges.push((*operand, *result));
            }
        }
        if instruction.is(Op::Load) || !op.reads_only {
            self.facts.edges.push((POINTERS_IN_MEMORY, *result));
        }
    }
}
