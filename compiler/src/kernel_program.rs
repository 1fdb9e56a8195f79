//! One group as a program of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use warpweave_fusion::schedule::choice::plan;
use warpweave_plan::verify::verify;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::lower::LoweredProgram;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::partition::search::{FusionGroup, Partition};
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::arena::Id;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::{Names, Source, Statement, StatementId, TensorDefinition, TensorId, TensorProgram};
use warpweave_plan::body::GroupBody;
use warpweave_plan::plan::backend::BackendReason;
use warpweave_runtime::bundle::{Signature, TargetPlan};

use crate::compiler::kernels;
use crate::error::CompileError;
use crate::model::Model;

/// A persistent program that runs one kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelProgram {
    /// The group's statements: what the group reads are inputs, unless it is constant, and what it writes are outputs.
    pub program: TensorProgram,
    /// The inputs and outputs of the program.
    pub signature: Signature,
    /// The plan, verified.
    pub plan: TargetPlan,
    /// The kernels: two where a reduction is split.
    pub kernels: Program,
}

impl KernelProgram {
    /// The program of a group of `whole`, for this many virtual execution units.
    pub fn new(
        whole: &TensorProgram,
        group: &FusionGroup,
        prices: &GpuPrices,
        units: usize,
    ) -> Result<Self, CompileError> {
        let (program, group) = alone(whole, group);
        let prepared = PreparedProgram::new(program);
        let partition = Partition { groups: vec![group] };
        let cost = Arc::new(EstimatedCost { arch: prices.arch });
        let options = PlanOptions::new(units, cost, prices.sync);
        let planned = plan(&prepared, &partition, &options);
        let plan = verify(planned.plan).map_err(CompileError::Plan)?;
        let LoweredProgram { program: kernels, bindings, operands, relocations } =
            kernels(plan.plan(), &prepared.program)?;
        let reason = BackendReason::Asked;
        let plan = TargetPlan { plan, bindings, operands, relocations, reason };
        let names = |count: usize| -> Vec<String> { (0..count).map(|position| position.to_string()).collect() };
        let program = prepared.program;
        let (inputs, outputs) = (names(program.inputs.len()), names(program.outputs.len()));
        let Model { signature, program, .. } = Model::new("kernel", program, &inputs, &outputs);
        Ok(Self { program, signature, plan, kernels })
    }
}

/// The statements of a group alone, and the group in that program.
fn alone(whole: &TensorProgram, group: &FusionGroup) -> (TensorProgram, FusionGroup) {
    let names = Names { origins: whole.names.origins.clone(), ..Names::default() };
    let mut alone = TensorProgram { names, ..TensorProgram::default() };
    let mut known: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    for &id in &group.statements {
        let statement = &whole.statements[id];
        let operands =
            statement.operands.iter().map(|tensor| outside(whole, &mut alone, &mut known, *tensor)).collect();
        let own = StatementId::from_index(alone.statements.len());
        let ty = whole.tensors[statement.output].ty.clone();
        let output = alone.tensors.push(TensorDefinition { ty, source: Source::Statement(own) });
        known.insert(statement.output, output);
        alone.statements.push(Statement { operands, output, ..statement.clone() });
    }
    let mut body = GroupBody::clone(group.kernel.body());
    body.operands.iter_mut().for_each(|tensor| *tensor = outside(whole, &mut alone, &mut known, *tensor));
    body.outputs.iter_mut().for_each(|tensor| *tensor = known[tensor]);
    alone.outputs.clone_from(&body.outputs);
    let statements: BTreeSet<StatementId> = alone.statements.ids().collect();
    (alone, FusionGroup { statements, kernel: group.kernel.with_body(body), ..group.clone() })
}

/// The tensor in the program alone that stands for one of the whole: the one that is known, else a constant or an input.
fn outside(
    whole: &TensorProgram,
    alone: &mut TensorProgram,
    known: &mut BTreeMap<TensorId, TensorId>,
    tensor: TensorId,
) -> TensorId {
    if let Some(&known) = known.get(&tensor) {
        return known;
    }
    let definition = &whole.tensors[tensor];
    let source = match &definition.source {
        Source::Constant(value) => Source::Constant(value.clone()),
        Source::Input(_) | Source::State(_) | Source::Statement(_) => Source::Input(alone.inputs.len()),
    };
    let is_input = matches!(source, Source::Input(_));
    let own = alone.tensors.push(TensorDefinition { ty: definition.ty.clone(), source });
    if is_input {
        alone.inputs.push(own);
    }
    known.insert(tensor, own);
    own
}
