//! What file tests have to show: of every type that a plan is made of, each kind, in some golden text.
//!
//! The kinds of a type are those of a `match` that the compiler holds complete. So a new variant does not compile
//! before it has a name here, and fails before it has a case.

use std::collections::BTreeSet;

use warpweave::codegen::kernel_ir::Entry;
use warpweave::codegen::kernel_ir::text::parse as parse_kernels;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::policy::WaitGranularity;
use warpweave::graph::procedure::Procedure;
use warpweave::plan::body::StageSource;
use warpweave::plan::plan::backend::{Backend, BackendChoice, PlanBackend};
use warpweave::plan::plan::{EdgeKind, ExecutionPlan, Instruction, ROperator, Segment};
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::operand_staging::stages_operands;
use warpweave::plan::template::contraction::shape::Pipeline;
use warpweave::plan::template::row::RowThreads;
use warpweave::plan::template::text as templates;
use warpweave::plan::text::parse;

use crate::command::{Command, Planning};
use crate::start::{Level, told};
use crate::{files, sections};

/// Files with a section of text, at least.
const FEWEST_CASES: usize = 25;

/// A kind of a type: the type in words, then the kind.
type Kind = (&'static str, &'static str);

/// A type whose kinds all need a case.
trait Kinds {
    /// The type in words.
    const FAMILY: &'static str;
    /// Its kinds.
    const NAMES: &'static [&'static str];

    /// The kind of a value.
    fn name(&self) -> &'static str;
}

macro_rules! kinds {
    ($($type:ty: $family:literal { $($pattern:pat => $name:literal),* $(,)? })*) => {
        $(impl Kinds for $type {
            const FAMILY: &'static str = $family;
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn name(&self) -> &'static str {
                match self {
                    $($pattern => $name,)*
                }
            }
        })*

        /// Every kind of every type.
        fn all() -> BTreeSet<Kind> {
            let mut all = BTreeSet::new();
            $(all.extend(<$type>::NAMES.iter().map(|name| (<$type>::FAMILY, *name)));)*
            all
        }
    };
}

kinds! {
    Level: "level that a file begins at" {
        Self::Model => "model",
        Self::Graph => "graph",
        Self::Program => "program",
        Self::Partition => "partition",
        Self::Plan => "plan",
        Self::KernelIr => "kernel IR",
    }
    Command: "command" {
        Self::Print => "print",
        Self::Lower => "lower",
        Self::Prepare(_) => "prepare",
        Self::Partition(_) => "partition",
        Self::Plan(_) => "plan",
        Self::Verify(_) => "verify",
        Self::Fold(..) => "fold",
        Self::Ir(_) => "ir",
        Self::Cuda(_) => "cuda",
        Self::Emulate(_) => "emulate",
        Self::Evaluate => "evaluate",
        Self::Devices(_) => "devices",
    }
    FusionLevel: "level of fusion" {
        Self::None => "none",
        Self::Register => "register",
        Self::Full => "full",
    }
    BackendChoice: "choice of a back end" {
        Self::Only(Backend::Persistent) => "persistent",
        Self::Only(Backend::CudaGraph) => "cuda-graph",
        Self::Mixed => "mixed",
        Self::Auto => "auto",
    }
    WaitGranularity: "granularity of waits" {
        Self::Device => "device",
        Self::Operator => "operator",
        Self::Band => "band",
    }
    Template: "template" {
        Self::Pointwise(_) => "pointwise",
        Self::Row(RowThreads::Warp) => "row/warp",
        Self::Row(RowThreads::Block) => "row/block",
        Self::WeightStationary => "weight-stationary",
        Self::Contraction(_) => "contraction",
        Self::Staged => "staged",
        Self::Attention(_) => "attention",
        Self::Opaque => "opaque",
    }
    Pipeline: "pipeline" {
        Self::Unpipelined => "unpipelined",
        Self::RegisterPrefetch => "register-prefetch",
        Self::Asynchronous { .. } => "asynchronous",
    }
    Procedure: "procedure" {
        Self::Sort(_) => "sort",
        Self::Suppress { .. } => "suppress",
    }
    StageSource: "source of a stage" {
        Self::Operand(_) => "tensor",
        Self::Stage(_) => "stage",
        Self::Staged(_) => "staged",
    }
    EdgeKind: "kind of edge" {
        Self::Counter => "counter",
        Self::Tagged => "value with its own validity",
    }
    Instruction: "instruction" {
        Self::Run(_) => "run",
        Self::Hold(_) => "hold",
        Self::Prefetch(_) => "prefetch",
        Self::Wait { .. } => "wait",
        Self::Signal(_) => "signal",
    }
    Segment: "segment" {
        Self::Persistent(_) => "persistent",
        Self::CudaGraph(_) => "graph",
    }
    PlanBackend: "back end of a whole plan" {
        Self::Persistent => "persistent",
        Self::CudaGraph => "cuda-graph",
        Self::Mixed => "mixed",
    }
    Entry: "entry of kernels" {
        Self::Persistent(_) => "of streams",
        Self::Nodes(_) => "of nodes",
        Self::Mixed(_) => "of both",
    }
    Feature: "feature of a plan" {
        Self::SplitReduction => "a reduction in parts",
        Self::Concat => "tensors in the buffer of another",
        Self::PolledFactor => "a factor that is polled into a box",
        Self::IndexCheck => "a check of indices",
    }
}

/// What a plan has or has not.
enum Feature {
    SplitReduction,
    Concat,
    PolledFactor,
    IndexCheck,
}

/// The family of templates whose kernels are printed.
const PRINTED: &str = "kernels in text of template";

/// Fails unless every kind has a golden text, and there are cases enough.
pub fn check() {
    let (mut found, mut cases) = (Found::default(), 0);
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        if found.file(&text).unwrap_or_else(|reason| panic!("{}: {reason}", path.display())) {
            cases += 1;
        }
    }
    let templates: BTreeSet<&str> = templates::names().collect();
    let shown: BTreeSet<&str> =
        Template::NAMES.iter().map(|name| name.split_once('/').map_or(*name, |(name, _)| name)).collect();
    assert_eq!(shown, templates, "templates are called as in text");
    let mut needed = all();
    needed.extend(Template::NAMES.iter().map(|name| (PRINTED, *name)));
    let missing: Vec<&Kind> = needed.difference(&found.0).collect();
    assert!(missing.is_empty(), "no golden text shows {missing:?}");
    assert!(cases >= FEWEST_CASES, "{cases} files compare text, {FEWEST_CASES} are wanted");
}

/// The kinds that were met.
#[derive(Default)]
struct Found(BTreeSet<Kind>);

impl Found {
    fn add<K: Kinds>(&mut self, value: &K) {
        self.0.insert((K::FAMILY, value.name()));
    }

    /// Adds what a file shows; whether it compares text.
    fn file(&mut self, text: &str) -> Result<bool, String> {
        let (begin, sections) = sections(text);
        self.add(&Level::of(begin)?);
        let (mut plans, mut is_printed, mut compares) = (Vec::new(), false, false);
        for section in sections {
            let (line, shown) = section.split_once('\n').unwrap_or((section, ""));
            let command: Command = line.parse()?;
            self.add(&command);
            compares |= !matches!(command, Command::Devices(_));
            is_printed |= matches!(command, Command::Ir(_) | Command::Cuda(_));
            match command {
                Command::Partition(choices) => self.add(&choices.fusion),
                Command::Plan(planning) => {
                    self.planning(&planning);
                    plans.push(parse(shown).map_err(told)?);
                }
                Command::Ir(_) => self.add(&parse_kernels(shown).map_err(told)?.entry),
                Command::Fold(..) => plans.push(parse(shown).map_err(told)?),
                _ => {}
            }
        }
        for plan in &plans {
            self.plan(plan);
            for operator in plan.operators().values().filter(|_| is_printed) {
                self.0.insert((PRINTED, operator.kernel.template().name()));
            }
        }
        Ok(compares)
    }

    fn planning(&mut self, planning: &Planning) {
        self.add(&planning.choices.fusion);
        // A plan has a reduction in parts as two rOperators; every choice that is given is taken by a group.
        if planning.choices.params.iter().any(|params| params.parts() > 1) {
            self.add(&Feature::SplitReduction);
        }
        if let Some(options) = &planning.options {
            self.add(&options.backend);
            options.sync.iter().for_each(|sync| self.add(&sync.waits()));
        }
    }

    fn plan(&mut self, plan: &ExecutionPlan) {
        self.add(&plan.backend());
        for segment in &plan.segments {
            self.add(segment);
            if let Segment::Persistent(segment) = segment {
                segment.streams.iter().flatten().for_each(|instruction| self.add(instruction));
            }
            segment.operators().values().for_each(|operator| self.operator(operator, plan));
        }
        for (id, tensor) in plan.memory.tensors.iter().filter(|(_, tensor)| tensor.buffer.is_some()) {
            self.add(&tensor.edge);
            if tensor.layout.root != id {
                self.add(&Feature::Concat);
            }
        }
        if !plan.memory.index_records.checks.is_empty() {
            self.add(&Feature::IndexCheck);
        }
    }

    fn operator(&mut self, operator: &ROperator, plan: &ExecutionPlan) {
        let (kernel, body) = (&operator.kernel, operator.kernel.body());
        self.add(kernel.template());
        if let Template::Contraction(shape) = kernel.template() {
            self.add(&shape.pipeline);
        }
        let is_polled = |tensor| plan.memory.tensors[tensor].edge == EdgeKind::Tagged;
        if stages_operands(kernel) && body.operands.iter().any(|&tensor| is_polled(tensor)) {
            self.add(&Feature::PolledFactor);
        }
        body.procedure().iter().for_each(|procedure| self.add(procedure));
        let sources = body.staged.iter().chain(&body.stages).flat_map(|stage| &stage.sources);
        sources.for_each(|source| self.add(source));
    }
}
