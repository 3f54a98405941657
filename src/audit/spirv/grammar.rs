//! What the analysis needs to know of each opcode, from `rspirv`'s grammar.

use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::{Op, StorageClass};

/// Where an opcode puts its result, and whether it may write through what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpFacts {
    /// In the grammar.
    pub known: bool,
    /// The first operand word is the result's type.
    pub has_type: bool,
    /// The next operand word is the result's id.
    pub has_result: bool,
    /// Never writes through a pointer or image among its operands.
    pub reads_only: bool,
    /// Runs a function it names among its operands other than by OpFunctionCall.
    pub calls_back: bool,
}

const UNKNOWN: OpFacts = OpFacts {
    known: false,
    has_type: true,
    has_result: true,
    reads_only: false,
    calls_back: true,
};

static FACTS: LazyLock<Vec<OpFacts>> = LazyLock::new(|| {
    let mut facts: Vec<OpFacts> = Vec::new();
    for instruction in INSTRUCTION_TABLE.iter() {
        let opcode = instruction.opcode as usize;
        if opcode >= facts.len() {
            facts.resize(opcode + 1, UNKNOWN);
        }
        let has = |kind: OperandKind| {
            instruction
                .operands
                .iter()
                .any(|operand| operand.kind == kind)
        };
        facts[opcode] = OpFacts {
            known: true,
            has_type: has(OperandKind::IdResultType),
            has_result: has(OperandKind::IdResult),
            reads_only: READS_ONLY.contains(&instruction.opcode),
            calls_back: CALLS_BACK.contains(&instruction.opcode),
        };
    }
    facts
});

/// The facts of `opcode`; those of an opcode that is in no grammar are the most careful ones.
pub(super) fn facts(opcode: u16) -> OpFacts {
    FACTS.get(usize::from(opcode)).copied().unwrap_or(UNKNOWN)
}

/// Opcodes that take pointers or images and write through none of them. Everything that is not here is taken to write
/// through each pointer and image it names, so that a missing entry costs precision and never a write.
const READS_ONLY: &[Op] = &[
    Op::Load,
    Op::AtomicLoad,
    Op::ArrayLength,
    Op::UntypedArrayLengthKHR,
    // Derive a pointer; the write, if there is one, names the derived pointer.
    Op::AccessChain,
    Op::InBoundsAccessChain,
    Op::PtrAccessChain,
    Op::InBoundsPtrAccessChain,
    Op::UntypedAccessChainKHR,
    Op::UntypedInBoundsAccessChainKHR,
    Op::UntypedPtrAccessChainKHR,
    Op::UntypedInBoundsPtrAccessChainKHR,
    Op::ImageTexelPointer,
    Op::CopyObject,
    Op::CopyLogical,
    Op::Select,
    Op::Phi,
    Op::Bitcast,
    Op::ConvertPtrToU,
    Op::ConvertUToPtr,
    Op::CompositeConstruct,
    Op::CompositeExtract,
    Op::CompositeInsert,
    Op::Variable,
    Op::UntypedVariableKHR,
    Op::PtrEqual,
    Op::PtrNotEqual,
    Op::PtrDiff,
    // Handled by the callee's own writes through its parameters.
    Op::FunctionCall,
    Op::FunctionParameter,
    Op::Function,
    Op::ReturnValue,
    // Literals that could look like ids.
    Op::Line,
    Op::NoLine,
    Op::Label,
    Op::Branch,
    Op::BranchConditional,
    Op::Switch,
    Op::LoopMerge,
    Op::SelectionMerge,
    Op::VectorShuffle,
    // Images and samplers.
    Op::Image,
    Op::SampledImage,
    Op::ImageSampleImplicitLod,
    Op::ImageSampleExplicitLod,
    Op::ImageSampleDrefImplicitLod,
    Op::ImageSampleDrefExplicitLod,
    Op::ImageSampleProjImplicitLod,
    Op::ImageSampleProjExplicitLod,
    Op::ImageSampleProjDrefImplicitLod,
    Op::ImageSampleProjDrefExplicitLod,
    Op::ImageFetch,
    Op::ImageGather,
    Op::ImageDrefGather,
    Op::ImageRead,
    Op::ImageQueryFormat,
    Op::ImageQueryOrder,
    Op::ImageQuerySizeLod,
    Op::ImageQuerySize,
    Op::ImageQueryLod,
    Op::ImageQueryLevels,
    Op::ImageQuerySamples,
    Op::ImageSparseSampleImplicitLod,
    Op::ImageSparseSampleExplicitLod,
    Op::ImageSparseSampleDrefImplicitLod,
    Op::ImageSparseSampleDrefExplicitLod,
    Op::ImageSparseFetch,
    Op::ImageSparseGather,
    Op::ImageSparseDrefGather,
    Op::ImageSparseTexelsResident,
    Op::ImageSparseRead,
    Op::CooperativeMatrixLoadKHR,
    Op::CooperativeMatrixLoadNV,
    Op::CooperativeVectorLoadNV,
];

/// Opcodes that run a function given by id. Their functions are written as "anything".
const CALLS_BACK: &[Op] = &[
    Op::CooperativeMatrixReduceNV,
    Op::CooperativeMatrixPerElementOpNV,
    Op::CooperativeMatrixLoadTensorNV,
    Op::FunctionPointerCallINTEL,
    Op::EnqueueKernel,
    Op::EnqueueNodePayloadsAMDX,
];

/// What a store through a pointer of a storage class reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassReach {
    /// Memory of the invocation, workgroup or pipeline stage: no buffer, no image.
    Local,
    /// Whatever the descriptor behind the pointer names.
    Descriptor,
    /// A device address.
    Address,
    /// Not known.
    Unknown,
}

pub(super) fn class_reach(class: u32) -> ClassReach {
    match StorageClass::from_u32(class) {
        Some(
            StorageClass::Input
            | StorageClass::Output
            | StorageClass::Workgroup
            | StorageClass::Private
            | StorageClass::Function
            | StorageClass::PushConstant
            | StorageClass::TileImageEXT
            | StorageClass::CallableDataKHR
            | StorageClass::IncomingCallableDataKHR
            | StorageClass::RayPayloadKHR
            | StorageClass::IncomingRayPayloadKHR
            | StorageClass::HitAttributeKHR
            | StorageClass::HitObjectAttributeNV
            | StorageClass::TaskPayloadWorkgroupEXT,
        ) => ClassReach::Local,
        Some(
            StorageClass::UniformConstant
            | StorageClass::Uniform
            | StorageClass::StorageBuffer
            | StorageClass::Image,
        ) => ClassReach::Descriptor,
        Some(StorageClass::PhysicalStorageBuffer) => ClassReach::Address,
        _ => ClassReach::Unknown,
    }
}
