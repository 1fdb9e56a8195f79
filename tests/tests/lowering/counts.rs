//! What the bound counts of a kernel is what the emulator counts of it: transactions, loads, bank conflicts, operations.

use std::cell::Cell;
use std::sync::Arc;
use warpweave::plan::kernel::Kernel;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::emulate::report::{Counts, LaunchReport};
use warpweave::fusion::cost::counts::{KernelCounts, Sampling};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::policy::SyncPolicy;
use warpweave::fusion::template::kernel_counts;
use warpweave::graph::{ElementType, TensorProgram};
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::OperatorId;
use warpweave::plan::template::Template;
use warpweave::plan::template::attention;
use warpweave::plan::template::product_work::ProductWork;
use warpweave::plan::template::staged::padded::PaddedBody;
use warpweave::plan::template::staged::phase;
use warpweave::plan::template::staged::phase::Method;
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::{self, Compiled, compile_chosen, compile_staged};
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::storage::{stored_as, written_in};
use warpweave_tests::suite::{Suite, is_full};

use crate::attention::cases as attention_cases;
use crate::cases::{self, Case};
use crate::variants;

/// How far the two may lie apart.
const TOLERANCE: f64 = 0.05;
/// Every how many of the variants of a group one is compared; each has three tiles, so all of these come up.
const STRIDE: usize = 4;
/// Tiles of a staged group that are compared.
const STAGED_TILES: usize = 12;
/// Templates and methods of phases, and the pairs of an operator and parameters that must be compared of each.
const PAIRS: [(&str, usize); 7] = [
    ("pointwise", 60),
    ("row", 40),
    ("contraction", 60),
    ("staged thread", 25),
    ("staged warp", 20),
    ("staged blocked", 60),
    ("attention", 60),
];
/// Cases whose data name few rows again and again, or whose tensors lie inside larger ones: the bound sees neither.
const UNSEEN: [&str; 2] = ["gather", "joined products"];

/// Adds a trial a form.
pub fn add(suite: &mut Suite) {
    for (name, form) in FORMS.into_iter().take(if is_full() { FORMS.len() } else { BY_DEFAULT }) {
        suite.trial(format!("counts of the bound{name}"), move || {
            let mut seen = Seen::default();
            for case in cases::all().into_iter().filter(|case| !UNSEEN.contains(&case.name)) {
                check(case, form, &mut seen);
            }
            for case in cases::staged() {
                check_staged(case, form, phase::candidates, &mut seen);
            }
            for case in attention_cases() {
                check_staged(case, form, attention::candidates, &mut seen);
            }
            seen.judge();
        });
    }
}

/// What is made of a case's program.
type Form = fn(TensorProgram) -> TensorProgram;

/// Forms of a run that is not full.
const BY_DEFAULT: usize = 1;
/// Singles as they are, and in 16 bits.
const FORMS: [(&str, Form); 3] = [
    ("", |program| program),
    (", stored in halves", |program| stored_as(&program, ElementType::F16)),
    (", written in halves", |program| written_in(&program, ElementType::BF16)),
];

/// What was compared.
#[derive(Default)]
struct Seen {
    pairs: [usize; PAIRS.len()],
    worst: [(f64, String); QUANTITIES],
}

impl Seen {
    fn judge(&self) {
        let pairs = PAIRS.into_iter().zip(self.pairs);
        pairs.clone().for_each(|((template, _), found)| eprintln!("{template}: {found} pairs"));
        self.worst.iter().for_each(|(apart, what)| eprintln!("{:.2} %: {what}", 100.0 * apart));
        for ((template, wanted), found) in pairs {
            assert!(found >= wanted, "{template}: {found} pairs, of at least {wanted}");
        }
        for (apart, what) in &self.worst {
            assert!(*apart <= TOLERANCE, "{what}");
        }
    }
}

fn program(case: Case, form: Form) -> TensorProgram {
    let mut sketch = Sketch::new(31);
    let outputs = (case.build)(&mut sketch);
    form(sketch.finish(&outputs))
}

/// Compares every operator of a case under every [`STRIDE`]-th variant.
fn check(case: Case, form: Form, seen: &mut Seen) {
    let program = program(case, form);
    let mut number = 0;
    loop {
        let more = Cell::new(false);
        // The bound counts values without tags.
        let by_counters = PlanOptions { sync: Some(SyncPolicy::OPERATOR), ..pipeline::options(3) };
        let compiled = compile_chosen(&program, FusionLevel::Register, &by_counters, |body| {
            let mut variants = variants::of(body);
            more.set(more.get() || number + STRIDE < variants.len());
            Some(variants.swap_remove(number % variants.len()))
        });
        compare(case, &program, &compiled, seen);
        number += STRIDE;
        if !more.get() {
            return;
        }
    }
}

/// Compares a case as one staged kernel under choices from all over the space.
fn check_staged(case: Case, form: Form, candidates: fn(&Arc<GroupBody>) -> Vec<Kernel>, seen: &mut Seen) {
    let program = program(case, form);
    for number in 0..STAGED_TILES {
        let choose = |body: &Arc<GroupBody>| {
            let mut tiles = candidates(body);
            assert!(!tiles.is_empty(), "{} fits under no tile", case.name);
            Some(tiles.swap_remove(number * tiles.len() / STAGED_TILES).params().clone())
        };
        let compiled = compile_staged(&program, 3, choose).unwrap_or_else(|| panic!("{} is not staged", case.name));
        compare(case, &program, &compiled, seen);
    }
}

/// Compares kernel by kernel; groups that share one are added up.
fn compare(case: Case, program: &TensorProgram, compiled: &Compiled, seen: &mut Seen) {
    let inputs = random::inputs(&mut Random::new(32), program);
    let options = LaunchOptions { count: true, ..LaunchOptions::seeded(7) };
    let (report, _) = Machine::new(compiled).launch(&inputs, &options);
    assert!(report.is_clean(), "{}: {report}", case.name);
    check_tensor_products(case.name, compiled, &report);
    let plan = compiled.plan.plan();
    let operators = &plan.persistent().operators;
    for (kernel, found) in report.kernel_counts.iter().enumerate() {
        let mut expected = KernelCounts::default();
        let mut names = Vec::new();
        let of_kernel = |id: &OperatorId| compiled.lowered.bindings[*id].kernel as usize == kernel;
        for (id, operator) in operators.iter() {
            if of_kernel(&id) {
                expected += kernel_counts(&operator.kernel, Sampling::EXACT);
                names.push(operator.kernel.params().to_string());
                kinds(&operator.kernel).into_iter().for_each(|kind| seen.pairs[kind] += 1);
            }
        }
        let name = format!("{} under {names:?}", case.name);
        for (at, (quantity, expected, found)) in quantities(&expected, found).into_iter().enumerate() {
            let apart = (expected - found).abs() / found.max(1.0);
            if apart >= seen.worst[at].0 {
                seen.worst[at] = (apart, format!("{name}: {quantity} {expected}, the kernel has {found}"));
            }
        }
    }
}

/// Holds the multiply-adds that kernels are said to do on tensor cores against those that were counted: whole products of matrices, so no
/// fewer, and none where none are said.
pub fn check_tensor_products(name: &str, compiled: &Compiled, report: &LaunchReport) {
    let mut said = vec![0; report.kernel_counts.len()];
    for (id, operator) in compiled.plan.plan().persistent().operators.iter() {
        said[compiled.lowered.bindings[id].kernel as usize] += ProductWork::of(&operator.kernel).on_tensor_cores;
    }
    for (kernel, said) in said.into_iter().enumerate() {
        let counted = report.kernel_counts[kernel].tensor_products;
        assert!(said <= counted, "{name}: k{kernel} does {counted} multiply-adds on tensor cores, not {said}");
        assert_eq!(
            said == 0,
            counted == 0,
            "{name}: k{kernel} does {counted} multiply-adds on tensor cores, not {said}"
        );
    }
}

/// Positions in [`PAIRS`] of a kernel's template, or of the methods of its phases.
fn kinds(kernel: &Kernel) -> Vec<usize> {
    match kernel.template() {
        Template::Pointwise(_) => vec![0],
        Template::Row(_) => vec![1],
        Template::Contraction(_) => vec![2],
        Template::WeightStationary => unreachable!("no case is a recurrence"),
        Template::Opaque => unreachable!("no case has a procedure"),
        Template::Attention(_) => vec![6],
        Template::Staged => {
            let boxes = kernel.boxes().expect("the parameters fit");
            let (staged, _) = phase::methods(&kernel.with_body(PaddedBody::of(kernel.shared_body()).body), boxes);
            let mut kinds: Vec<usize> = staged
                .into_iter()
                .map(|method| match method {
                    Method::Thread => 3,
                    Method::Warp => 4,
                    Method::Blocked { .. } | Method::Matrices(_) => 5,
                })
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds
        }
    }
}

/// Quantities that are compared.
const QUANTITIES: usize = 6;

fn quantities(expected: &KernelCounts, found: &Counts) -> [(&'static str, f64, f64); QUANTITIES] {
    let degree = if found.shared_load_ideal == 0 {
        1.0
    } else {
        found.shared_load_wavefronts as f64 / found.shared_load_ideal as f64
    };
    [
        ("operations", expected.operations, found.float_operations as f64),
        ("load transactions", expected.load_sectors, found.load_sectors as f64),
        ("store transactions", expected.store_sectors, found.store_sectors as f64),
        ("loads from global memory", expected.global_loads, found.global_loads as f64),
        ("loads from shared memory", expected.shared_loads, found.shared_loads as f64),
        ("conflict degree", expected.conflict_degree(), degree),
    ]
}
