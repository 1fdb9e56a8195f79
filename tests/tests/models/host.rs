//! The host back end: it runs exactly the plan's rTasks, and a ResNet-50 in reasonable time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use warpweave::graph::expr::{BinaryOp, Reducer, UnaryOp};
use warpweave::graph::program::TensorId;
use warpweave::graph::program::text as programs;
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::Tensors;
use warpweave::graph::{Tensor, TensorProgram};
use warpweave::plan::plan::RTask;
use warpweave::runtime::host::{HostSession, pack_weights};
use warpweave_tests::machine::assert_close;
use warpweave_tests::pipeline::host_plan;
use warpweave_tests::random::Random;
use warpweave_tests::sketch::{Sketch, Window};
use warpweave_tests::suite::Suite;
use warpweave_tests::{models, random};

/// A trial a model for its trace, and one for the time of a large network.
pub fn add(suite: &mut Suite) {
    for model in models::by_turns() {
        suite.trial(format!("{} on host runs its plan", model.name), move || runs_its_plan(&model.program()));
    }
    suite.trial("threads without rTasks take no part on host", threads_with_work);
    suite.trial("a row's epilogue reads memory on host", root_mean_square);
    suite.trial("elements at named places on host", gathers);
    suite.trial("products of few columns on host", few_columns);
    suite.trial("columns that quotients and bounds scatter on host", scattered_columns);
    suite.trial("windows over innermost channels on host", windows_of_innermost_channels);
    suite.trial("a ResNet-50 of 224 pixels on host within two seconds", resnet);
}

fn runs_its_plan(program: &TensorProgram) {
    let compiled = host_plan(program);
    let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
    let inputs = random::indices(&mut Random::new(5), program);
    let mut results = Vec::new();
    for threads in [1, 2, 3] {
        let mut session = HostSession::new(&compiled.plan, weights.clone(), threads).expect("the plan folds");
        results.push(session.run_traced(&inputs, None).expect("the plan runs"));
        let planned = compiled
            .plan
            .plan()
            .persistent()
            .operators
            .iter()
            .flat_map(|(operator, planned)| (0..planned.tasks()).map(move |tile| RTask { operator, tile }));
        let ran: BTreeSet<RTask> = session.trace().iter().copied().collect();
        assert_eq!(ran.len(), session.trace().len(), "no rTask runs twice");
        assert_eq!(ran, planned.collect::<BTreeSet<RTask>>());
        assert_eq!(session.moments().len(), session.threads(), "a thread a stream");
        assert!(
            session.threads() == 1 || session.moments().iter().all(|moments| !moments.is_empty()),
            "no thread is idle"
        );
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "the number of threads changes no bit");
}

/// Statements, and how many of four threads have rTasks of them.
const WORK: [(&str, usize); 4] = [
    ("e0 (t0) -> t1: f32[4] = [a0<4] add(x0[a0], 1.0)", 1),
    ("e0 (t0) -> t1: f32[] = [] sum[a0<4] x0[a0]", 1),
    ("e0 (t0) -> t1: f32[4x4096] = [a0<4, a1<4096] exp(add(x0[a0], 1.0))", 4),
    ("e0 (t0) -> t1: f32[4] = [a0<4] x0[a0]", 1),
];

fn threads_with_work() {
    for (statement, working) in WORK {
        let text = format!("program\nt0: f32[4] = input 0\n{statement}\noutput t1 \"y\"\n");
        let program = programs::parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let compiled = host_plan(&program);
        let mut session = HostSession::new(&compiled.plan, Vec::new().into(), 4).expect("the plan folds");
        let inputs = random::inputs(&mut Random::new(29), &program);
        let found = session.run_traced(&inputs, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_close(&found, &evaluate(&program, &inputs).expect("the statement has a value"), 1e-5);
        assert_eq!(session.threads(), working, "{text}");
        assert_eq!(session.moments().len(), working, "{text}");
    }
}

/// Reads at places that stay along rows, change along them, move beside axes, or are named by several elements.
const GATHERS: [&str; 8] = [
    "[a0<300, a1<70] x0[place(x1[a0], 50), a1]",
    "[a0<70, a1<300] x0[place(x1[a1], 50), a0]",
    "[a0<3, a1<300] x0[place(x1[50*a0 + a1], 20) + 10, a0 + 2]",
    "[a0<20, a1<30] x0[a1 + place(x1[a0], 20), place(x1[a1 + 20], 70)]",
    "[a0<40, a1<90] x0[place(x1[2*a0 + a1], 50), place(x1[a0 + a1], 70)]",
    "[a0<300] x0[place(x1[a0], 50), -place(x1[-a0 + 299], 70) + 69]",
    "[a0<300, a1<2] (a0 + a1 in 1..300 ? x0[place(x1[a0], 50), a1] : 0.0)",
    "[a0<65, a1<65] (a0 + 2*a1 in 3..150 ? x0[place(x1[a0 + a1], 50), a0] : 0.0)",
];

fn gathers() {
    for expr in GATHERS {
        for (element, zero) in [("f32", "0.0"), ("u8", "0_u8"), ("i16", "0_i16"), ("i64", "0_i64")] {
            for index in ["i64", "i32", "u8"] {
                let expr = expr.replace(": 0.0", &format!(": {zero}"));
                let extents: Vec<&str> = expr[1..].split(']').next().unwrap_or("").split(", ").collect();
                let extents: Vec<&str> = extents.iter().filter_map(|axis| axis.split('<').nth(1)).collect();
                let shape = extents.join("x");
                let text = format!(
                    "program\nt0: {element}[50x70] = input 0\nt1: {index}[400] = input 1\n\
                     e0 (t0, t1) -> t2: {element}[{shape}] = {expr}\noutput t2 \"y\"\n"
                );
                let program = programs::parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
                let compiled = host_plan(&program);
                let mut session = HostSession::new(&compiled.plan, Vec::new().into(), 2).expect("the plan folds");
                let random = &mut Random::new(11);
                let below = if index == "u8" { 0 } else { 20 };
                let places = (0..400).map(|_| random.below(20 + below) as i64 - below as i64).collect::<Vec<i64>>();
                let types = program.inputs.iter().map(|&input| program.tensors[input].ty.clone());
                let mut inputs: Vec<_> = types.map(|ty| random::tensor(random, &ty)).collect();
                inputs[1] = Tensor::from_i64(inputs[1].ty().clone(), &places);
                let found = session.run(&inputs).unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert!(found == evaluate(&program, &inputs).expect("the indices are good"), "{text}");
            }
        }
    }
}

/// What follows the sums of a product whose columns lie side by side in memory, and are too few for vectors.
const AFTER_SUMS: [&str; 5] = [
    "add(reduced, x2[a0])",
    "max(add(reduced, x2[a0]), 0.0)",
    "add(add(reduced, x2[a0]), x3[a0, a1])",
    "min(max(mul(reduced, 0.5), -3.0), 3.0)",
    "add(reduced, tanh(x2[a0]))",
];

/// Expressions of single precision whose columns lie at quotients, remainders and within bounds.
const SCATTERED: [&str; 7] = [
    "[a0<6, a1<20, a2<30] x0[a0, div(a1, 2), div(a2, 2)]",
    "[a0<6, a1<20, a2<30] add(x0[a0, div(a1, 2), div(a2, 3)], x0[a0, mod(a1, 10), mod(7*a2, 15)])",
    "[a0<6, a1<40, a2<60] x0[a0, clamp(div(a1 + 2, 4) - 1, 0, 9), clamp(div(a2 + 2, 4) - 1, 0, 14)]",
    "[a0<6, a1<40, a2<60] mul(x0[a0, div(a1, 4), div(a2, 4)], f32(i64[mod(2*a1 + 5, 8)]))",
    "[a0<6, a1<20, a2<30] add(x0[a0, div(a1, 2), clamp(a2 - 3, 0, 14)], f32(i64[mod(2*a2 + 5, 8)]))",
    "[a0<6, a1<20, a2<30] (a1 + a2 in 1..40 ? x0[a0, div(a1, 2), div(a2, 2)] : 0.0)",
    "[a0<6, a1<20, a2<300] x0[a0, div(a1, 2), mod(div(a2, 7), 15)]",
];

fn scattered_columns() {
    for expression in SCATTERED {
        let axes = expression[1..].split(']').next().unwrap_or_default().split(", ");
        let shape = axes.filter_map(|axis| axis.split('<').nth(1)).collect::<Vec<&str>>().join("x");
        agrees(&format!(
            "program\nt0: f32[6x10x15] = input 0\ne0 (t0) -> t1: f32[{shape}] = {expression}\noutput t1 \"y\"\n"
        ));
    }
}

/// Windows over two dimensions with channels behind them.
struct Innermost {
    height: usize,
    width: usize,
    channels: usize,
    /// Rows and columns of taps.
    taps: [usize; 2],
    step: usize,
    dilation: usize,
}

const INNERMOST: [Innermost; 5] = [
    Innermost { height: 14, width: 14, channels: 24, taps: [3, 3], step: 1, dilation: 1 },
    Innermost { height: 20, width: 33, channels: 5, taps: [7, 7], step: 1, dilation: 1 },
    Innermost { height: 15, width: 17, channels: 8, taps: [3, 5], step: 2, dilation: 1 },
    Innermost { height: 19, width: 12, channels: 3, taps: [3, 3], step: 1, dilation: 2 },
    Innermost { height: 1, width: 40, channels: 6, taps: [1, 9], step: 1, dilation: 1 },
];

fn windows_of_innermost_channels() {
    for Innermost { height, width, channels, taps: [rows, columns], step, dilation } in INNERMOST {
        let reach = |taps: usize| (taps - 1) * dilation / 2;
        let (above, left) = (reach(rows), reach(columns));
        let (high, wide) = (height.div_ceil(step), width.div_ceil(step));
        let times = |factor: usize, axis: &str| if factor == 1 { axis.to_owned() } else { format!("{factor}*{axis}") };
        let less = |by: usize| if by == 0 { String::new() } else { format!(" - {by}") };
        let row = format!("{} + {}{}", times(step, "a1"), times(dilation, "a3"), less(above));
        let column = format!("{} + {}{}", times(step, "a2"), times(dilation, "a4"), less(left));
        let mut conditions = [(above, format!("{row} in 0..{height}")), (left, format!("{column} in 0..{width}"))];
        conditions.sort_by_key(|(reach, _)| std::cmp::Reverse(*reach));
        let [(_, first), (_, second)] = conditions;
        let read = format!("({first}, {second} ? x0[{row}, {column}, a0] : 0.0)");
        let of = |body: &str| {
            format!(
                "program\nt0: f32[{height}x{width}x{channels}] = input 0\nt1: f32[{channels}x{rows}x{columns}] = input 1\n\
                 e0 (t0, t1) -> t2: f32[{channels}x{high}x{wide}] = [a0<{channels}, a1<{high}, a2<{wide}] {body}\noutput t2 \"y\"\n"
            )
        };
        agrees(&of(&format!("sum[a3<{rows}, a4<{columns}] mul({read}, x1[a0, a3, a4])")));
        agrees(&of(&format!("max[a3<{rows}, a4<{columns}] {read} then mul(reduced, x1[a0, 0, 0])")));
    }
}

/// The host gives what the program says, and the same bits on any number of threads.
fn agrees(text: &str) {
    let program = programs::parse(text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let compiled = host_plan(&program);
    let inputs = random::inputs(&mut Random::new(31), &program);
    let expected = evaluate(&program, &inputs).expect("the statement has a value");
    let run = |threads: usize| {
        let mut session = HostSession::new(&compiled.plan, Vec::new().into(), threads).expect("the plan folds");
        session.run(&inputs).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let found = run(1);
    assert_close(&found, &expected, 1e-6);
    assert_eq!(found, run(3), "{text}");
}

fn few_columns() {
    for (rows, columns) in [(96, 4), (67, 4), (130, 1), (40, 7)] {
        for after in AFTER_SUMS {
            let text = format!(
                "program\nt0: f32[{rows}x24] = input 0\nt1: f32[24x{columns}] = input 1\nt2: f32[{rows}] = input 2\n\
                 t3: f32[{rows}x{columns}] = input 3\ne0 (t0, t1, t2, t3) -> t4: f32[{rows}x{columns}] = \
                 [a0<{rows}, a1<{columns}] sum[a2<24] mul(x0[a0, a2], x1[a2, a1]) then {after}\noutput t4 \"y\"\n"
            );
            let program = programs::parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let compiled = host_plan(&program);
            let mut session = HostSession::new(&compiled.plan, Vec::new().into(), 2).expect("the plan folds");
            let inputs = random::inputs(&mut Random::new(23), &program);
            let found = session.run(&inputs).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_close(&found, &evaluate(&program, &inputs).expect("the program has a value"), 1e-5);
        }
    }
}

fn resnet() {
    let (program, input) = resnet_50();
    let compiled = host_plan(&program);
    let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
    let mut session = HostSession::new(&compiled.plan, weights, 2).expect("the plan folds");
    let inputs = [random::tensor(&mut Random::new(7), &program.tensors[input].ty)];
    let times: Vec<Duration> = (0..3)
        .map(|_| {
            let start = Instant::now();
            session.run(&inputs).expect("the plan runs");
            start.elapsed()
        })
        .collect();
    assert!(times.iter().min() < Some(&Duration::from_secs(2)), "{times:?}");
}

/// A row's reduction whose epilogue reads memory: x / √(Σ x² + ε) with ε an element of the weights.
fn root_mean_square() {
    let mut sketch = Sketch::new(19);
    let input = sketch.input(&[3, 64]);
    let offset = sketch.weight(&[1, 1]);
    let squares = sketch.binary(BinaryOp::Multiply, input, input);
    let mean = sketch.reduce(Reducer::Sum, squares);
    let shifted = sketch.binary(BinaryOp::Add, mean, offset);
    let root = sketch.unary(UnaryOp::Sqrt, shifted);
    let result = sketch.binary(BinaryOp::Divide, input, root);
    let program = sketch.finish(&[result]);
    let inputs = random::inputs(&mut Random::new(3), &program);
    let expected = evaluate(&program, &inputs).expect("the program has a value");
    let compiled = host_plan(&program);
    let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
    let mut session = HostSession::new(&compiled.plan, weights, 2).expect("the plan folds");
    assert_close(&session.run(&inputs).expect("the plan runs"), &expected, 1e-5);
}

/// ResNet-50 with folded normalisations: stages of 3, 4, 6 and 3 bottlenecks.
fn resnet_50() -> (TensorProgram, TensorId) {
    let mut sketch = Sketch::new(11);
    let input = sketch.input(&[1, 3, 224, 224]);
    let window = |size: usize, stride: usize| Window { size, stride, padding: size / 2 };
    let first = sketch.convolution(input, 64, window(7, 2));
    let first = sketch.relu(first);
    let mut features = sketch.maximum_pool(first, window(3, 2));
    for (blocks, channels, stride) in [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)] {
        for block in 0..blocks {
            let stride = if block == 0 { stride } else { 1 };
            let mut inner = features;
            for (width, size, step) in [(channels, 1, 1), (channels, 3, stride)] {
                inner = sketch.convolution(inner, width, window(size, step));
                inner = sketch.relu(inner);
            }
            inner = sketch.convolution(inner, 4 * channels, window(1, 1));
            if block == 0 {
                features = sketch.convolution(features, 4 * channels, window(1, stride));
            }
            let sum = sketch.binary(BinaryOp::Add, inner, features);
            features = sketch.relu(sum);
        }
    }
    (sketch.finish(&[features]), input)
}
