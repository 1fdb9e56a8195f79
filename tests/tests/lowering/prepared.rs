//! What programs are rewritten to before they are partitioned: as many products as there should be, and the same values.

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::TensorProgram;
use warpweave::graph::expr::{BinaryOp, Reducer, Scalar, UnaryOp};
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::{Definition, TensorId};
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::compile;
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::{Sketch, Window};
use warpweave_tests::suite::Suite;

const POINT: Window = Window { size: 1, stride: 1, padding: 0 };
const WINDOW: Window = Window { size: 3, stride: 1, padding: 1 };

/// A program, how many sums of products it has when it is partitioned, and how many of them read its first input.
struct Case {
    name: &'static str,
    build: fn(&mut Sketch) -> Vec<TensorId>,
    products: usize,
    of_input: usize,
}

/// Adds a trial for each case.
pub fn add(suite: &mut Suite) {
    let case = |name, build, products, of_input| Case { name, build, products, of_input };
    let cases = [
        case("queries, keys and values", attention, 4, 1),
        case("queries apart from keys and values", cross_attention, 5, 1),
        case("branches of a module", branches, 3, 1),
        case("joined branches", joined, 2, 2),
        case("branches that end", ends, 2, 2),
        case("branches that go different ways", different, 2, 2),
        case("a window over many channels", many_channels, 1, 1),
    ];
    for case in cases {
        suite.trial(format!("prepared {}", case.name), move || check(&case));
    }
}

fn check(case: &Case) {
    let mut sketch = Sketch::new(41);
    let outputs = (case.build)(&mut sketch);
    let program = sketch.finish(&outputs);
    let prepared = prepare(&program).program;
    assert_eq!(products(&prepared), (case.products, case.of_input), "{prepared}");
    let inputs = random::inputs(&mut Random::new(42), &program);
    let expected = evaluate(&program, &inputs);
    assert_close(&evaluate(&prepared, &inputs), &expected, 1e-4);
    let compiled = compile(&program, 3, FusionLevel::Full);
    let (report, found) = Machine::new(&compiled).launch(&inputs, &LaunchOptions::seeded(1));
    assert!(report.is_clean(), "{report}");
    assert_close(&found, &expected, 1e-4);
}

/// Sums of products, and those of them that read the first input.
fn products(program: &TensorProgram) -> (usize, usize) {
    let statements = program.statements.values().filter(|statement| match &statement.definition {
        Definition::Compute(expr) => {
            expr.reducer == Some(Reducer::Sum) && matches!(expr.body, Scalar::Binary(BinaryOp::Multiply, ..))
        }
        Definition::Opaque(_) | Definition::Concat { .. } => false,
    });
    let of_input = statements.clone().filter(|statement| statement.operands.contains(&program.inputs[0]));
    (statements.count(), of_input.count())
}

fn biased(sketch: &mut Sketch, input: TensorId, columns: usize) -> TensorId {
    let bias = sketch.weight(&[columns]);
    let product = sketch.linear(input, columns);
    sketch.binary(BinaryOp::Add, product, bias)
}

fn mixed(sketch: &mut Sketch, query: TensorId, key: TensorId, value: TensorId) -> Vec<TensorId> {
    let key = sketch.transpose(key, &[0, 2, 1]);
    let scores = sketch.matmul(query, key);
    let weights = sketch.softmax(scores);
    let mixed = sketch.matmul(weights, value);
    vec![biased(sketch, mixed, 16)]
}

fn attention(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[2, 19, 16]);
    let [query, key, value] = [16, 16, 24].map(|columns| biased(sketch, x, columns));
    mixed(sketch, query, key, value)
}

fn cross_attention(sketch: &mut Sketch) -> Vec<TensorId> {
    let memory = sketch.input(&[2, 13, 20]);
    let x = sketch.input(&[2, 19, 16]);
    let query = biased(sketch, x, 12);
    let [key, value] = [12, 16].map(|columns| biased(sketch, memory, columns));
    mixed(sketch, query, key, value)
}

fn image(sketch: &mut Sketch) -> TensorId {
    sketch.input(&[1, 6, 9, 8])
}

fn branches(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = image(sketch);
    let parts = [4, 5].map(|channels| {
        let narrow = sketch.convolution(x, channels, POINT);
        let narrow = sketch.relu(narrow);
        sketch.convolution(narrow, 3, WINDOW)
    });
    vec![sketch.binary(BinaryOp::Add, parts[0], parts[1])]
}

fn joined(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = image(sketch);
    let parts = [4, 5].map(|channels| sketch.convolution(x, channels, POINT));
    let joined = sketch.concat(1, &parts);
    vec![sketch.relu(joined)]
}

fn ends(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = image(sketch);
    [4, 5].map(|channels| sketch.convolution(x, channels, POINT)).to_vec()
}

fn different(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = image(sketch);
    let parts = [POINT, WINDOW].map(|window| sketch.convolution(x, 4, window));
    let bent = sketch.unary(UnaryOp::Sin, parts[0]);
    vec![sketch.binary(BinaryOp::Multiply, bent, parts[1])]
}

fn many_channels(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[1, 8, 64, 66]);
    vec![sketch.convolution(x, 8, WINDOW)]
}
