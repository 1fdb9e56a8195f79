//! What the bound counts of a kernel is what the emulator counts of it: transactions, loads, bank conflicts, operations.

use warpweave::codegen::emulate::{Counts, LaunchOptions};
use warpweave::fusion::partition::bound::kernel::{KernelCounts, Sampling, kernel_counts};
use warpweave::fusion::partition::{FusionLevel, Template};
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::compile_with;
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;

use crate::cases::{self, Case};
use crate::variants;

/// How far the two may lie apart.
const TOLERANCE: f64 = 0.05;
/// Every how many of the variants of a group one is compared; each has three tiles, so all of these come up.
const STRIDE: usize = 4;
/// Pairs of an operator and parameters that must be compared.
const PAIRS: [(&str, usize); 3] = [("pointwise", 20), ("row", 20), ("contraction", 20)];
/// Cases that read where their data say, or whose tensors lie inside larger ones: the bound sees neither.
const UNSEEN: [&str; 2] = ["gather", "joined products"];

/// Adds the trial.
pub fn add(suite: &mut Suite) {
    suite.trial("counts of the bound", || {
        let mut pairs = [0; 3];
        for case in cases::all().into_iter().filter(|case| !UNSEEN.contains(&case.name)) {
            check(case, &mut pairs);
        }
        for ((template, wanted), found) in PAIRS.into_iter().zip(pairs) {
            assert!(found >= wanted, "{template}: {found} pairs");
        }
    });
}

/// Compares every operator of a case under every variant whose rOperators have a kernel to themselves.
fn check(case: Case, pairs: &mut [usize; 3]) {
    let mut number = 0;
    loop {
        let mut sketch = Sketch::new(31);
        let outputs = (case.build)(&mut sketch);
        let program = sketch.finish(&outputs);
        let more = std::cell::Cell::new(false);
        let compiled = compile_with(&program, 3, FusionLevel::Register, |body| {
            let mut variants = variants::of(body);
            more.set(more.get() || number + STRIDE < variants.len());
            Some(variants.swap_remove(number % variants.len()))
        });
        let inputs = random::inputs(&mut Random::new(32), &program);
        let options = LaunchOptions { count: true, ..LaunchOptions::seeded(number as u64) };
        let (report, _) = Machine::new(&compiled).launch(&inputs, &options);
        assert!(report.is_clean(), "{}: {report}", case.name);
        let operators = &compiled.plan.plan().persistent().operators;
        for (kernel, found) in report.kernel_counts.iter().enumerate() {
            let mut expected = KernelCounts::default();
            let mut names = Vec::new();
            for (id, operator) in operators.iter() {
                if compiled.lowered.bindings[id].kernel as usize == kernel {
                    expected += kernel_counts(&operator.body, &operator.params, Sampling::EXACT);
                    names.push(operator.params.to_string());
                    pairs[match operator.params.template {
                        Template::Pointwise { .. } => 0,
                        Template::Row(_) => 1,
                        Template::Contraction(_) => 2,
                        Template::Kept | Template::Staged => {
                            unreachable!("nothing is staged or kept at register level")
                        }
                    }] += 1;
                }
            }
            agree(&expected, found, &format!("{} under {names:?}", case.name));
        }
        number += STRIDE;
        if !more.get() {
            return;
        }
    }
}

fn agree(expected: &KernelCounts, found: &Counts, name: &str) {
    let degree = if found.shared_load_ideal == 0 {
        1.0
    } else {
        found.shared_load_wavefronts as f64 / found.shared_load_ideal as f64
    };
    let quantities = [
        ("operations", expected.operations, found.float_operations as f64),
        ("load transactions", expected.load_sectors, found.load_sectors as f64),
        ("store transactions", expected.store_sectors, found.store_sectors as f64),
        ("loads from global memory", expected.global_loads, found.global_loads as f64),
        ("loads from shared memory", expected.shared_loads, found.shared_loads as f64),
        ("conflict degree", expected.conflict_degree(), degree),
    ];
    for (quantity, expected, found) in quantities {
        let apart = (expected - found).abs();
        assert!(apart <= TOLERANCE * found.max(1.0), "{name}: {quantity} {expected}, the kernel has {found}");
    }
}
