//! Derivatives of a mean squared error along random directions of all weights of a model.

use warpweave::frontend::{ImportOptions, NameFilter, Variables, import};
use warpweave::graph::autodiff::append_gradients;
use warpweave::graph::lower::lower_differentiable;
use warpweave::graph::program::{ProgramBuilder, Source, TensorId, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::training::Loss;
use warpweave::graph::{ElementType, Tensor};
use warpweave_tests::doubles::in_doubles;
use warpweave_tests::models::{Model, by_turns};
use warpweave_tests::random::Random;
use warpweave_tests::suite::Suite;

use super::differences::{doubles, inputs, product};

/// Half the distances of the points of a difference, one tried after another: where a kink of a whole model lies between two, a
/// shorter one passes by it. A wrong derivative agrees with none.
const STEPS: [f64; 3] = [1e-7, 1e-8, 1e-9];
const TOLERANCE: f64 = 1e-5;
const DIRECTIONS: usize = 3;

/// A trial a model.
pub fn add(suite: &mut Suite) {
    for model in by_turns() {
        suite.trial(format!("directions {}", model.name), move || check(&model));
    }
}

fn check(model: &Model) {
    let variables = Variables::Floating(NameFilter::default());
    let options = ImportOptions { variables, ..ImportOptions::default() };
    let graph = import(&model.path, &options).unwrap_or_else(|error| panic!("{}: {error}", model.name));
    let forward = in_doubles(&lower_differentiable(&graph)).expect("the program in doubles is one");
    let scored = forward.program.outputs[0];
    let mut random = Random::new(3);
    let inputs = inputs(&forward.program, (-1.0, 1.0), &mut random);
    let ty = forward.program.tensors[scored].ty.clone();
    assert_eq!(ty.element, ElementType::F64, "{}", model.name);
    let mut program = ProgramBuilder::extending(forward);
    let target = program.constant(doubles(&ty, (-1.0, 1.0), &mut random));
    let loss = Loss::MeanSquaredError.append(&mut program, scored, target);
    let forward = program.finish_differentiable(vec![loss]).with_reduced_values();
    let weights: Vec<TensorId> = forward
        .program
        .tensors
        .iter()
        .filter(|(_, tensor)| matches!(tensor.source, Source::State(_)) && tensor.ty.element == ElementType::F64)
        .map(|(id, _)| id)
        .collect();
    let mut program = ProgramBuilder::extending(forward.clone());
    let seed = program.constant(Tensor::from_f64(program.ty(loss).clone(), &[1.0]));
    let gradients = append_gradients(&mut program, &forward, &[(loss, seed)], &weights);
    let gradients = gradients.unwrap_or_else(|error| panic!("{}: {error}", model.name));
    let program = program.finish(gradients.iter().flatten().copied().collect());
    let mut found = evaluate(&program, &inputs).expect("the gradients have values").into_iter();
    let gradients: Vec<Option<Tensor>> = gradients.iter().map(|gradient| gradient.and_then(|_| found.next())).collect();
    for direction in 0..DIRECTIONS {
        let steps: Vec<Tensor> = weights
            .iter()
            .map(|&weight| doubles(&forward.program.tensors[weight].ty, (-1.0, 1.0), &mut random))
            .collect();
        let derived: f64 =
            steps.iter().zip(&gradients).filter_map(|(step, gradient)| Some(product(step, gradient.as_ref()?))).sum();
        let moved = |distance: f64| {
            let program = moved(&forward.program, &weights, &steps, distance);
            evaluate(&program, &inputs).expect("the loss has a value")[0].to_f64()[0]
        };
        let mut found = Vec::new();
        let agrees = STEPS.into_iter().any(|step| {
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            found.push(difference);
            (difference - derived).abs() <= TOLERANCE * difference.abs().max(derived.abs()).max(1e-3)
        });
        assert!(agrees, "{}: along direction {direction} it is {derived}, and differences say {found:?}", model.name);
    }
}

/// The program with its weights moved along a direction.
fn moved(program: &TensorProgram, weights: &[TensorId], steps: &[Tensor], distance: f64) -> TensorProgram {
    let mut program = program.clone();
    for (&weight, step) in weights.iter().zip(steps) {
        if let Source::State(state) = &mut program.tensors[weight].source {
            let values = state.initial.to_f64().into_iter().zip(step.to_f64());
            let values: Vec<f64> = values.map(|(value, step)| value + distance * step).collect();
            state.initial = Tensor::from_f64(state.initial.ty().clone(), &values);
        }
    }
    program
}
