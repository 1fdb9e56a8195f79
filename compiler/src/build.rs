//! A model with everything that its compilation is decided by.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use warpweave_fusion::cost::KernelCost;
use warpweave_fusion::cost::cpu::CpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::partition::search::FusionLevel;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::{Machine, PassId, PreparedProgram, Selection};
use warpweave_graph::program::precision::{Kept, Precision};
use warpweave_graph::program::{Source, TensorId};
use warpweave_graph::{TensorProgram, TensorType};
use warpweave_plan::plan::backend::{Backend, BackendChoice};
use warpweave_runtime::bundle::{BundleContents, BundleTarget, HostProgram, StorageRecord, TargetContents};
use warpweave_runtime::cuda::DeviceInfo;
use warpweave_runtime::session::TensorNames;
use warpweave_runtime::target::Target;

use crate::error::{BuildError, CompileError};
use crate::index_names::index_names;
use crate::model::Model;
use crate::prices;
use crate::search_limit::SearchLimit;
use crate::storage::Storage;
use crate::timings_file::{TimingsFile, TimingsFileError};

/// A model to compile, after the passes over its program, with what its user chooses.
#[derive(Clone, Debug)]
pub struct Build {
    /// The model, with the program that plans for GPUs schedule.
    pub model: Model,
    /// How far operators are fused; as each target's default unless given.
    pub fusion: Option<FusionLevel>,
    /// The constants of the GPU that is compiled for; those of the target's generation unless given.
    pub prices: Option<GpuPrices>,
    /// The constants of the processor that the host's plan is made for; those that are shipped for AVX2 unless given, whatever
    /// processor compiles.
    pub processor: Option<CpuArch>,
    /// Recorded times that price kernels of GPUs.
    pub timings: Option<Arc<TimingsFile>>,
    /// What may run the plan for a GPU; a persistent program unless given.
    pub backend: BackendChoice,
    /// When the search of each target ends early.
    pub limit: SearchLimit,
    passes: Selection,
    prepared: PreparedProgram,
    /// What singles are stored in.
    precision: Precision,
    /// What of the program stays in singles where others are stored in 16 bits.
    kept: BTreeMap<TensorId, Kept>,
    /// What the host's plan schedules, where that is another program.
    of_host: Option<Box<PreparedProgram>>,
}

impl Build {
    /// A model after all passes.
    ///
    /// # Errors
    /// A pass leaves an invalid program: an error of warpweave.
    pub fn new(model: Model) -> Result<Self, BuildError> {
        Self::with(model, &Selection::default())
    }

    /// A model after chosen passes.
    ///
    /// # Errors
    /// A pass leaves an invalid program: an error of warpweave.
    pub fn with(mut model: Model, passes: &Selection) -> Result<Self, BuildError> {
        let of = |machine| PreparedProgram::rewritten(&model.program, passes, machine).map_err(CompileError::from);
        let (prepared, of_host) = (of(Machine::Gpu)?, of(Machine::Processor)?);
        let is_other = of_host != prepared && have_equal_sources(&of_host.program, &prepared.program);
        let of_host = is_other.then(|| Box::new(of_host));
        // The weights are shared, and only the prepared program is needed from here on.
        model.program = prepared.program.clone();
        let backend = BackendChoice::Only(Backend::Persistent);
        Ok(Self {
            model,
            fusion: None,
            prices: None,
            processor: None,
            timings: None,
            backend,
            limit: SearchLimit::default(),
            passes: passes.clone(),
            prepared,
            precision: Precision::Fp32,
            kept: BTreeMap::new(),
            of_host,
        })
    }

    /// The same model with its singles stored in a precision, on GPUs and on the host. Inputs and outputs keep their types.
    ///
    /// # Errors
    /// It is a training step, whose gradients would lose their digits, or what is to stay in singles is not there.
    pub fn stored_in(mut self, storage: &Storage) -> Result<Self, BuildError> {
        let precision = storage.precision;
        if precision == Precision::Fp32 {
            return Ok(self);
        }
        if self.model.training.is_some() {
            return Err(BuildError::TrainingPrecision(precision));
        }
        let of_host = self.own_of_host().map(|prepared| &prepared.program);
        if let Some(pattern) = storage.keep.without_tensor(of_host.into_iter().chain([&self.prepared.program])) {
            return Err(BuildError::NothingKept { pattern, names: tensor_names(&self.prepared.program) });
        }
        let narrow = |prepared: &PreparedProgram| prepared.stored_in(precision, &storage.wanted(&prepared.program));
        let of_host = self.of_host.take().map(|prepared| narrow(&prepared).0);
        (self.prepared, self.kept) = narrow(&self.prepared);
        if self.passes.runs(PassId::CHANNELS_LAST) {
            self.prepared = self.prepared.channels_last();
        }
        self.precision = precision;
        self.of_host =
            of_host.filter(|of_host| have_equal_sources(&of_host.program, &self.prepared.program)).map(Box::new);
        self.model.program = self.prepared.program.clone();
        Ok(self)
    }

    /// A program of this model as a model of the host, its statements unfused, with all floating point that statements compute
    /// as outputs behind its own; and which tensors these are.
    pub(crate) fn watched(&self, program: &TensorProgram) -> (Self, Vec<TensorId>) {
        let mut program = program.clone();
        let own: BTreeSet<TensorId> = program.outputs.iter().copied().collect();
        let computed = program.statements.values().map(|statement| statement.output);
        let tensors: Vec<TensorId> =
            computed.filter(|tensor| program.tensors[*tensor].ty.element.is_float() && !own.contains(tensor)).collect();
        program.outputs.extend(&tensors);
        let model = Model { program: program.clone(), ..self.model.clone() };
        let fusion = Some(FusionLevel::None);
        let prepared = PreparedProgram::new(program);
        (Self { model, prepared, of_host: None, fusion, ..self.clone() }, tensors)
    }

    /// The tensors that stay in singles where others are stored in 16 bits, and why.
    pub fn kept_in_singles(&self) -> &BTreeMap<TensorId, Kept> {
        &self.kept
    }

    /// What partitions and plans for a target are decided by.
    ///
    /// # Errors
    /// The recorded times are of another device.
    pub fn options(&self, target: BundleTarget) -> Result<PlanOptions, TimingsFileError> {
        let defaults = match target {
            BundleTarget::Host => PlanOptions::processor(self.processor(), target.units()),
            BundleTarget::Gpu(gpu) => {
                let prices = self.prices(gpu);
                let options = PlanOptions::gpu(&prices);
                let cost: Arc<dyn KernelCost> = match &self.timings {
                    None => options.cost,
                    Some(file) => Arc::new(file.cost(gpu, EstimatedCost { arch: prices.arch })?),
                };
                let shared_bytes = options.shared_bytes.min(gpu.shared_bytes_per_block());
                PlanOptions { cost, shared_bytes, backend: self.backend, ..options }
            }
        };
        let fusion = self.fusion.unwrap_or(defaults.fusion);
        Ok(PlanOptions { fusion, ..defaults })
    }

    /// The constants of the processor.
    pub fn processor(&self) -> CpuArch {
        self.processor.unwrap_or_else(prices::of_processor)
    }

    /// The constants of a target's device.
    pub fn prices(&self, gpu: Target) -> GpuPrices {
        self.prices.clone().unwrap_or_else(|| prices::of_target(gpu))
    }

    /// The same model for a device of this machine: by its constants, unless some were given.
    pub fn on_device(&self, device: &DeviceInfo) -> Cow<'_, Self> {
        if self.prices.is_some() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { prices: Some(prices::of_gpu(device)), ..self.clone() })
    }

    /// Which device's constants decide a target's plan, and where they come from.
    pub fn priced_for(&self, target: BundleTarget) -> String {
        match target {
            BundleTarget::Host => prices::processor_priced_for(&self.processor()),
            BundleTarget::Gpu(gpu) => self.prices(gpu).priced_for(),
        }
    }

    /// The program as it is partitioned and scheduled for GPUs.
    pub fn prepared(&self) -> &PreparedProgram {
        &self.prepared
    }

    /// The program as it is partitioned and scheduled for a machine.
    pub fn prepared_for(&self, machine: Machine) -> &PreparedProgram {
        match (machine, &self.of_host) {
            (Machine::Processor, Some(of_host)) => of_host,
            (Machine::Processor | Machine::Gpu, _) => &self.prepared,
        }
    }

    /// What the host's plan schedules, where that is another program than that of GPUs.
    pub fn own_of_host(&self) -> Option<&PreparedProgram> {
        self.of_host.as_deref()
    }

    /// The names in the model of tensors of the program for a machine whose elements index others.
    pub fn index_tensors(&self, machine: Machine) -> TensorNames {
        index_names(&self.prepared_for(machine).program, &self.model.signature)
    }

    /// What singles are stored in, and what stays in them; none where all do.
    fn storage_record(&self) -> Option<StorageRecord> {
        self.precision.storage()?;
        let program = &self.prepared.program;
        let name = |tensor| program.tensor_name(tensor).map_or_else(|| tensor.to_string(), str::to_owned);
        let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (tensor, why) in &self.kept {
            kept.entry(why.to_string()).or_default().push(name(*tensor));
        }
        Some(StorageRecord { precision: self.precision.to_string(), kept })
    }

    /// The contents of a bundle of these parts.
    pub fn contents(&self, parts: BTreeMap<BundleTarget, TargetContents>) -> BundleContents {
        let has_host = parts.contains_key(&BundleTarget::Host);
        let is_for_host = has_host && parts.len() == 1;
        let of_host = self.of_host.as_ref().filter(|_| has_host && !is_for_host).map(|prepared| HostProgram {
            program: prepared.program.clone(),
            index_tensors: self.index_tensors(Machine::Processor),
        });
        let machine = if is_for_host { Machine::Processor } else { Machine::Gpu };
        let program = &self.prepared_for(machine).program;
        BundleContents {
            model: self.model.record.clone(),
            signature: self.model.signature.clone(),
            index_tensors: self.index_tensors(machine),
            of_host,
            storage: self.storage_record(),
            training: self.model.training.clone(),
            program: program.clone(),
            targets: parts,
        }
    }
}

/// Names of tensors of a program, in its order.
fn tensor_names(program: &TensorProgram) -> Vec<String> {
    program.tensors.ids().filter_map(|tensor| program.tensor_name(tensor)).map(str::to_owned).collect()
}

/// Whether inputs, constants and states have the same numbers in two programs, so that both find them in one bundle.
fn have_equal_sources(left: &TensorProgram, right: &TensorProgram) -> bool {
    let sources = |program: &TensorProgram| {
        let given = program.tensors.iter().filter(|(_, tensor)| !matches!(tensor.source, Source::Statement(_)));
        given.map(|(id, tensor)| (id, tensor.ty.clone())).collect::<Vec<_>>()
    };
    let are_equal = |(id, _): &(TensorId, TensorType)| left.stored(*id) == right.stored(*id);
    let of_left = sources(left);
    of_left == sources(right) && left.inputs == right.inputs && of_left.iter().all(are_equal)
}
