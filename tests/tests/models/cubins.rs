//! Every model as one program for each architecture, gated on what NVRTC makes of it.

use std::collections::BTreeSet;

use warpweave::codegen::kernel_ir::Entry;
use warpweave::codegen::print::UnitSize;
use warpweave::codegen::print::{ENTRY_NAME, entry_names};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::choice::parts::SegmentGroups;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::plan::plan::{ROperator, Segment};
use warpweave::plan::tables;
use warpweave::plan::tables::node_name;
use warpweave::plan::template::Template;
use warpweave::runtime::target::Target;
use warpweave_tests::pipeline::{self, compile_for, compile_parts, compile_under};
use warpweave_tests::sketch::{Sketch, Window};
use warpweave_tests::suite::{Suite, is_full};
use warpweave_tests::{gates, models};

/// The model that the default run compiles as a graph.
const GRAPH: &str = "mobilenet_v2/torchscript";

/// A trial a model and architecture, and one for what shapes share. Each architecture takes one exporter's models unless every
/// bar is asked for.
pub fn add(suite: &mut Suite) {
    for (target, models) in [(Target::Sm80, models::by_other_turns()), (Target::Sm90a, models::by_turns())] {
        for model in models {
            suite.trial(format!("{} as {target} code", model.name), move || {
                let compiled = compile_for(&model.program(), Target::Sm90a);
                let [Segment::Persistent(_)] = compiled.plan.plan().segments.as_slice() else {
                    panic!("one persistent segment runs the whole model");
                };
                gates::check(&compiled.lowered.program, UnitSize::default(), target);
            });
        }
    }
    for model in models::all().into_iter().filter(|model| is_full() || model.name == GRAPH) {
        // Only later architectures have a node wait for the one before.
        let targets = [Target::Sm90a, Target::Sm80].into_iter().take(if is_full() { 2 } else { 1 });
        for target in targets {
            let model = model.clone();
            suite.trial(format!("{} as {target} code of a graph", model.name), move || {
                let options =
                    PlanOptions { backend: BackendChoice::Only(Backend::CudaGraph), ..pipeline::options(132) };
                let compiled = compile_under(&model.program(), FusionLevel::Full, &options);
                let (_, sass) = gates::judged(&compiled.lowered.program, UnitSize::default(), target);
                // The wait for the node before, and the leave for the node after.
                let waits = ["ACQBULK", "PREEXIT"].map(|opcode| sass.contains(opcode));
                assert_eq!(waits, [target.compute_capability().0 >= 9; 2]);
            });
        }
    }
    suite.trial("segments of both kinds as sm_90a code", mixed_code);
    for (target, links) in [(Target::Sm80, false), (Target::Sm90a, true)] {
        suite.trial(format!("every kernel a unit of its own as {target} code"), move || {
            let model = models::all().into_iter().find(|model| model.name == "mobilenet_v2/dynamo");
            let program = model.expect("the model is there").program();
            let compiled = compile_for(&program, Target::Sm90a);
            let program = &compiled.lowered.program;
            let units = gates::check(program, UnitSize { kernels: 1, ..UnitSize::default() }, target);
            let own_entry = usize::from(!matches!(program.entry, Entry::Nodes(_)));
            let expected = if links { program.kernels.len() + own_entry } else { 1 };
            assert_eq!(units, expected, "a unit a kernel, and that of a persistent entry");
        });
    }
    suite.trial("convolutions that differ only in extents share a body", share_a_body);
}

/// The entries of a program whose first half is nodes and whose second is persistent: the one that walks streams, and one a
/// kernel that is a node.
fn mixed_code() {
    let model = models::all().into_iter().find(|model| model.name == GRAPH).expect("the model is there");
    let halves = |groups: usize| {
        let (first, second) = (0..groups / 2, groups / 2..groups);
        let part = |groups, backend| SegmentGroups { groups, backend };
        vec![part(first, Backend::CudaGraph), part(second, Backend::Persistent)]
    };
    let compiled = compile_parts(&model.program(), FusionLevel::Full, &pipeline::options(132), halves);
    let program = &compiled.lowered.program;
    let names = entry_names(program);
    let nodes = tables::encode(compiled.plan.plan(), &compiled.lowered.bindings, Vec::new());
    let nodes: BTreeSet<String> = nodes.nodes().map(|node| node_name(node.kernel)).collect();
    assert!(!nodes.is_empty() && nodes.len() < program.kernels.len(), "some kernels are nodes");
    assert_eq!(BTreeSet::from_iter(names), nodes.into_iter().chain([ENTRY_NAME.to_owned()]).collect());
    let (_, sass) = gates::judged(program, UnitSize::default(), Target::Sm90a);
    assert!(["ACQBULK", "PREEXIT"].iter().all(|opcode| sass.contains(opcode)), "nodes wait for one another");
}

/// Five convolutions of one kind on five shapes: there are as many bodies as kinds of kernels were chosen, not as shapes.
fn share_a_body() {
    let mut sketch = Sketch::new(3);
    let outputs: Vec<_> = [(128, 256, 28), (256, 512, 28), (128, 512, 28), (512, 256, 28), (256, 256, 28)]
        .into_iter()
        .map(|(inputs, channels, side)| {
            let input = sketch.input(&[1, inputs, side, side]);
            sketch.convolution(input, channels, Window { size: 3, stride: 1, padding: 1 })
        })
        .collect();
    let program = sketch.finish(&outputs);
    let compiled = compile_for(&program, Target::Sm90a);
    let operators = &compiled.plan.plan().persistent().operators;
    // A reduction in parts has one tile axis more, and a second rOperator that sums them, in a loop that is written out.
    let kind = |operator: &ROperator| {
        let sums = matches!(*operator.kernel.template(), Template::Pointwise(_));
        let lead = &operator.kernel.body().stages[0].expr;
        let parts: Vec<usize> = lead.reduced().filter(|_| sums).map(|axis| lead.axes[axis].extent).collect();
        (*operator.kernel.template(), operator.kernel.body().tile_rank, parts)
    };
    let kinds: BTreeSet<_> = operators.values().map(kind).collect();
    assert!(operators.len() >= 5);
    assert!(kinds.len() < 5, "{kinds:?}");
    assert_eq!(compiled.lowered.program.kernels.len(), kinds.len());
}
