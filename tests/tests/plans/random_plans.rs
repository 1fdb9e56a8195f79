//! Random programs: their plans, folded and not, are right, and compute what the programs mean.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warpweave::codegen::emulate::mutate::PlanMutation;
use warpweave::fusion::cost::arch::Constant;
use warpweave::fusion::cost::sync::SyncCosts;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::expr::{BinaryOp, Scalar, UnaryOp};
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::graph::{ElementType, Tensor};
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave::plan::template::contraction::operand_staging::stages_operands;
use warpweave::plan::verify::verify;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile_under};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::{Suite, is_full};

use crate::protocol::check_mutation;
use crate::unit_counters::with_unit_counters;
use warpweave_tests::closure::accesses::{Accesses, Reads};
use warpweave_tests::closure::judge::{Verdict, judge};

/// Programs, and launches of each: all interleavings are drawn again.
fn size() -> (u32, u64) {
    if is_full() { (2000, 20) } else { (50, 3) }
}

/// A step of a program: what is done, and to which earlier results.
type Step = (u8, u8, u8);

/// A value and a reduction over the row that it belongs to, added: a reduction's epilogue reads what another reduction made.
fn value_and_product() -> Recipe {
    let layers = [(0, 0, 0); 4];
    let steps = [(0, 0, 0), (152, 92, 0), (67, 173, 142), (155, 187, 31)].into_iter().chain(layers);
    Recipe { rows: 1, steps: steps.chain([(105, 148, 101)]).collect(), units: 1, fewer: 1 }
}

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    suite.trial("a value and a product of its row", || _ = check(&value_and_product()));
    suite.trial("random programs", || {
        let config = Config { cases: size().0, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
        let steps = vec(any::<Step>(), 2..12);
        let recipe = (1usize..40, steps, 1usize..9, 1usize..9).prop_map(|(rows, steps, units, fewer)| Recipe {
            rows,
            steps,
            units: units.max(fewer),
            fewer: units.min(fewer),
        });
        let polling = Cell::new(0);
        runner
            .run(&recipe, |recipe| {
                polling.set(polling.get() + check(&recipe));
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{error}"));
        eprintln!("{} plans have contractions that poll", polling.get());
        assert!(polling.get() > 0, "no contraction polls");
    });
}

#[derive(Clone, Debug)]
struct Recipe {
    rows: usize,
    steps: Vec<Step>,
    units: usize,
    fewer: usize,
}

/// Checks the plans of a recipe; how many of them have contractions that poll.
fn check(recipe: &Recipe) -> usize {
    let program = program(recipe);
    let inputs = random::inputs(&mut Random::new(recipe.rows as u64), &program);
    let expected = evaluate(&program, &inputs);
    let plain = pipeline::options(recipe.units);
    // Whatever can be polled is.
    let dear = SyncCosts { drain: Constant { value: 20.0, ..plain.costs.drain }, ..plain.costs };
    let mut polling = 0;
    for (level, costs) in [
        (FusionLevel::None, dear),
        (FusionLevel::Register, plain.costs),
        (FusionLevel::Register, dear),
        (FusionLevel::Full, plain.costs),
    ] {
        let compiled = compile_under(&program, level, &PlanOptions { costs, ..plain.clone() });
        let operators = &compiled.plan.plan().persistent().operators;
        polling += usize::from(operators.values().any(|operator| stages_operands(&operator.kernel)));
        printed::check(&compiled);
        let plan = compiled.plan.plan();
        let accesses = Accesses::new(plan, Reads::Boxes);
        assert_eq!(judge(plan, &accesses), Verdict::Harmless);
        let found = Machine::new(&compiled).run(&inputs, 1);
        assert_close(&found, &expected, 2e-3);
        let folded = fold(plan, recipe.fewer, Merging::Turns);
        assert_eq!(folded.persistent().units(), recipe.fewer);
        assert_eq!(judge(&folded, &accesses), Verdict::Harmless);
        printed::check_plan(&folded);
        let folded = verify(folded).unwrap_or_else(|violations| panic!("the folded plan has {violations:?}"));
        let machine = Machine::with_plan(folded.plan(), &compiled.lowered, &compiled.program);
        for seed in 2..2 + size().1 {
            assert_eq!(machine.run(&inputs, seed), found, "{level:?}, seed {seed}");
        }
        check_races(&compiled, &inputs, &found);
        let counted = with_unit_counters(plan);
        assert_eq!(judge(&counted, &accesses), Verdict::Harmless);
        let counted = verify(counted).unwrap_or_else(|violations| panic!("the counted plan has {violations:?}"));
        let machine = Machine::with_plan(counted.plan(), &compiled.lowered, &compiled.program);
        assert_eq!(machine.run(&inputs, 4), found, "{level:?}, a counter a unit");
    }
    polling
}

/// A wait, a signal and an order, each wrong in one place: the emulator's detector of races agrees with the closure.
fn check_races(compiled: &Compiled, inputs: &[Tensor], expected: &[Tensor]) {
    let machine = Machine::new(compiled);
    let accesses = Accesses::new(compiled.plan.plan(), Reads::Points);
    let segment = compiled.plan.plan().persistent();
    let number = Random::new(segment.tasks() as u64).below(segment.waits().max(1));
    let errors = [PlanMutation::DropWait { number }, PlanMutation::SignalBeforeRun { number }];
    for mutation in errors {
        check_mutation(compiled, &machine, &accesses, mutation, (inputs, expected), &[0, 0x5eed]);
    }
}

/// Widest result that steps go on from.
const WIDEST: usize = 70;

/// The program of a recipe: matrices of the same number of rows.
fn program(recipe: &Recipe) -> TensorProgram {
    let mut sketch = Sketch::new(3);
    let mut known = vec![sketch.input(&[recipe.rows, 12])];
    for &(word, first, second) in &recipe.steps {
        let choose = |number: u8| known[number as usize % known.len()];
        let (left, right) = (choose(first), choose(second));
        let next = step(&mut sketch, word, left, right, usize::from(first ^ second));
        if sketch.shape(next)[1] <= WIDEST {
            known.push(next);
        }
    }
    let last = *known.last().expect("there is an input");
    let other = known[recipe.steps.len() % known.len()];
    sketch.finish(&[last, other])
}

fn step(sketch: &mut Sketch, word: u8, left: TensorId, right: TensorId, number: usize) -> TensorId {
    let width = |sketch: &Sketch, tensor: TensorId| sketch.shape(tensor)[1];
    match word % 10 {
        0 | 1 => layer(sketch, left, 1 + number % 40),
        2 => sketch.softmax(left),
        3 => sketch.normalise(left),
        4 => sketch.unary(UnaryOp::Tanh, left),
        5 => {
            let columns = width(sketch, left);
            let right = if width(sketch, right) == columns { right } else { layer(sketch, right, columns) };
            sketch.binary(BinaryOp::Add, left, right)
        }
        6 => sketch.concat(1, &[left, right]),
        7 => {
            let columns = width(sketch, left);
            let first = number % columns;
            sketch.slice(left, 1, first, (columns - first).div_ceil(2), 1 + number % 2)
        }
        8 => {
            let columns = width(sketch, left);
            let right = layer(sketch, right, columns);
            let right = sketch.transpose(right, &[1, 0]);
            let product = sketch.matmul(left, right);
            scale(sketch, product, columns)
        }
        _ => sketch.pad(left, 1, [number % 3, 1], 0.5),
    }
}

/// A product with a new weight, divided so that errors do not grow from layer to layer.
fn layer(sketch: &mut Sketch, input: TensorId, columns: usize) -> TensorId {
    let length = sketch.shape(input)[1];
    let product = sketch.linear(input, columns);
    scale(sketch, product, length)
}

fn scale(sketch: &mut Sketch, input: TensorId, length: usize) -> TensorId {
    let factor = 1.0 / length.next_power_of_two() as f64;
    sketch.map(input, |x| x.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, factor)))
}
