//! What a bundle says about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_graph::counted::{self, CountedOutput};
use warpweave_graph::program::TensorId;
use warpweave_graph::training::LEARNING_RATE;
use warpweave_graph::{ElementType, Tensor, TensorType};
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::backend::{Backend, BackendReason, PlanBackend};

use super::name::{BundleTarget, EntryName};
use super::references::References;
use super::training::TrainingRecord;
use crate::session::TensorNames;

/// The version of the format that this library writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 14;

/// The entry `manifest.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Name and version of the program that wrote the bundle.
    pub producer: String,
    /// The model.
    pub model: ModelRecord,
    /// What goes in and what comes out.
    pub signature: Signature,
    /// The names in the model of the program's tensors whose elements index other tensors.
    #[serde(default, skip_serializing_if = "TensorNames::is_empty")]
    pub index_tensors: TensorNames,
    /// The same of the host's program, where that is another.
    #[serde(default, skip_serializing_if = "TensorNames::is_empty")]
    pub host_index_tensors: TensorNames,
    /// How exact the results are.
    pub numerics: Numerics,
    /// What floating point is stored in, where it was not left as it is in the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageRecord>,
    /// What the bundle of a training step says beside that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingRecord>,
    /// What the bundle was compiled for, by name.
    pub targets: BTreeMap<BundleTarget, TargetRecord>,
    /// All other entries.
    pub entries: BTreeMap<EntryName, EntryRecord>,
    /// The constants that are not in the bundle, but in files beside it.
    #[serde(default, skip_serializing_if = "References::is_empty")]
    pub references: References,
}

impl Manifest {
    /// What the input of a number is where the caller gives nothing: its default, or the learning rate of a training step.
    pub fn default_of(&self, input: usize) -> Option<Tensor> {
        let port = self.signature.inputs.get(input)?;
        let training =
            self.training.as_ref().filter(|_| port.name == LEARNING_RATE && port.ty.element == ElementType::F32);
        let rate = || training.map(|training| Tensor::scalar(training.learning_rate as f32));
        port.default.clone().or_else(rate).filter(|default| *default.ty() == port.ty)
    }
}

/// What a model's FP32 is stored in.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StorageRecord {
    /// The precision: `fp16` or `bf16`.
    pub precision: String,
    /// The tensors that stay in FP32, by the reason: their names in the model, or their numbers in the program.
    pub kept: BTreeMap<String, Vec<String>>,
}

/// Where a bundle comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The graph's name.
    pub name: String,
    /// BLAKE3 of the model file, in hexadecimal digits; empty if there was none.
    pub blake3: String,
    /// Inputs of the file that were fixed when the model was compiled, and what to; of large arrays the type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, String>,
}

/// An input or an output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Port {
    /// The name in the model.
    pub name: String,
    /// Element type and shape.
    #[serde(flatten)]
    pub ty: TensorType,
    /// For an integer input whose elements index an axis of another tensor: the extent of the smallest such axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_limit: Option<u64>,
    /// What an input is where the caller gives nothing. A bundle has it in an entry of its own, beside the manifest.
    #[serde(skip)]
    pub default: Option<Tensor>,
}

/// Inputs and outputs in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Signature {
    /// What the caller provides.
    pub inputs: Vec<Port>,
    /// What the caller gets.
    pub outputs: Vec<Port>,
    /// The outputs whose extents depend on data; those that hold counts stand behind all that the caller gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedOutput>,
}

impl Signature {
    /// Whether these are the types of a plan's inputs and outputs.
    pub(super) fn is_of(&self, memory: &MemoryPlan) -> bool {
        let same = |ports: &[Port], tensors: &[TensorId]| {
            let types = tensors.iter().map(|&tensor| memory.tensors.get(tensor).map(|planned| &planned.ty));
            ports.iter().map(|port| Some(&port.ty)).eq(types)
        };
        let shown = self.outputs.len().min(memory.outputs.len());
        let is_counted = |counted: &CountedOutput| {
            let port = self.outputs.get(counted.output);
            let count = memory.outputs.get(counted.count).and_then(|&tensor| memory.tensors.get(tensor));
            port.is_some_and(|port| counted.dimension < port.ty.shape.len())
                && counted.count >= shown
                && count.is_some_and(|count| count.ty == TensorType::new(ElementType::I64, []))
        };
        let hidden = counted::shown(memory.outputs.len(), &self.counted);
        same(&self.inputs, &memory.inputs)
            && same(&self.outputs, &memory.outputs[..shown])
            && hidden == shown
            && self.counted.iter().all(is_counted)
    }
}

/// The rules that kernels of all targets keep.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Numerics {
    /// Whether a product and a sum may be rounded once.
    pub contraction: bool,
    /// Whether subnormal numbers become zero.
    pub flush_subnormals: bool,
    /// Whether floating-point atomics make results depend on the order of execution.
    pub order_dependent: bool,
}

/// What runs a target's plan, and the geometry of its launch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TargetRecord {
    /// What runs the plan; the host walks the streams of a persistent one.
    pub backend: PlanBackend,
    /// Why that.
    pub backend_reason: BackendReason,
    /// Virtual execution units: streams of the plan, blocks of the launch. For a graph, the multiprocessors for which it was
    /// planned. Of several segments, the most.
    pub units: u32,
    /// The segments in their order, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentRecord>,
    /// Threads of a block.
    pub threads: u32,
    /// Shared-memory bytes of a block.
    pub shared_bytes: u32,
    /// Bytes of inputs, activations and outputs.
    pub arena_bytes: u64,
    /// Bytes of the constants that kernels read.
    pub weights_bytes: u64,
    /// Shared-memory bytes of a block of each kernel's node; none for a persistent program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_shared_bytes: Vec<u32>,
    /// Counters of the plan.
    pub counters: u32,
    /// Major and minor version of the oldest CUDA driver interface that loads the code; absent on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_driver: Option<(u32, u32)>,
}

/// One of several segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SegmentRecord {
    /// What runs it.
    pub backend: Backend,
    /// Its streams, or the multiprocessors for which it was planned.
    pub units: u32,
}

/// An entry's size and hash.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EntryRecord {
    /// Bytes.
    pub bytes: u64,
    /// BLAKE3 in hexadecimal digits.
    pub blake3: String,
}

/// The part of a manifest that every version has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct FormatVersion {
    pub(super) format_version: u32,
}
