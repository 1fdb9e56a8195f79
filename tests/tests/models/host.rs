//! The host back end: it runs exactly the plan's rTasks, and a ResNet-50 in reasonable time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use warpweave::compiler::{CompileOptions, compile};
use warpweave::graph::TensorProgram;
use warpweave::graph::expr::{BinaryOp, Reducer, UnaryOp};
use warpweave::graph::program::TensorId;
use warpweave::graph::reference::evaluate;
use warpweave::plan::plan::RTask;
use warpweave::runtime::host::{HostSession, pack_weights};
use warpweave_tests::machine::assert_close;
use warpweave_tests::random::Random;
use warpweave_tests::sketch::{Sketch, Window};
use warpweave_tests::suite::Suite;
use warpweave_tests::{models, random};

/// A trial a model for its trace, and one for the time of a large network.
pub fn add(suite: &mut Suite) {
    for model in models::by_turns() {
        suite.trial(format!("{} on host runs its plan", model.name), move || runs_its_plan(&model.program()));
    }
    suite.trial("a row's epilogue reads memory on host", root_mean_square);
    suite.trial("a ResNet-50 of 224 pixels on host within two seconds", resnet);
}

fn runs_its_plan(program: &TensorProgram) {
    let compiled = compile(program, &CompileOptions::host()).expect("the model compiles");
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
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "the number of threads changes no bit");
}

fn resnet() {
    let (program, input) = resnet_50();
    let compiled = compile(&program, &CompileOptions::host()).expect("the network compiles");
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
    let compiled = compile(&program, &CompileOptions::host()).expect("the program compiles");
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
