//! Derived gradients against central differences in doubles.

use warpweave::graph::autodiff::append_gradients;
use warpweave::graph::index_check::IndexCheck;
use warpweave::graph::program::Differentiable;
use warpweave::graph::program::{ProgramBuilder, TensorId, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave_tests::random::Random;

/// Half the distance of the points of a difference.
const STEP: f64 = 1e-5;
/// By how much a derivative may differ, as a part of the largest of its tensor.
const TOLERANCE: f64 = 1e-6;
/// Smaller derivatives are compared as if the largest were this: values near one are rounded, and differences divide by the step.
const SMALLEST_SCALE: f64 = 1e-2;
/// Elements of a tensor that are moved one by one.
const MOST_ELEMENTS: usize = 48;

/// What came of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Derivatives were compared, and agree.
    Agree,
    /// There is no input, or no output, of doubles.
    NothingToDerive,
    /// The values at this point are not finite, or no index that was tried exists.
    NoValue,
}

/// Compares the gradients of a random sum of the outputs with respect to all inputs of doubles, at random values between two.
///
/// # Panics
/// If a derivative is wrong.
pub fn check(name: &str, forward: &Differentiable, (low, high): (f64, f64), random: &mut Random) -> Outcome {
    let forward = forward.with_reduced_values();
    assert_eq!(forward.program.verify(), Ok(()), "{name}");
    let is_double = |tensor: &TensorId| forward.program.tensors[*tensor].ty.element == ElementType::F64;
    let wanted: Vec<TensorId> = forward.program.inputs.iter().copied().filter(is_double).collect();
    let outputs: Vec<TensorId> = forward.program.outputs.iter().copied().filter(is_double).collect();
    if wanted.is_empty() || outputs.is_empty() {
        return Outcome::NothingToDerive;
    }
    let inputs = inputs(&forward.program, (low, high), random);
    let mut weighted = |tensor: &TensorId| doubles(&forward.program.tensors[*tensor].ty, (-1.0, 1.0), random);
    let weights: Vec<Tensor> = outputs.iter().map(&mut weighted).collect();
    let plain = TensorProgram { outputs: outputs.clone(), ..forward.program.clone() };
    let value = |inputs: &[Tensor]| -> Option<f64> {
        let outputs = evaluate(&plain, inputs).ok()?;
        Some(outputs.iter().zip(&weights).map(|(output, weight)| product(output, weight)).sum())
    };
    if !value(&inputs).is_some_and(f64::is_finite) {
        return Outcome::NoValue;
    }
    let gradients = gradients(name, &forward, &outputs, &weights, &wanted, &inputs);
    for (&tensor, gradient) in wanted.iter().zip(gradients) {
        let position = forward.program.inputs.iter().position(|&input| input == tensor).expect("it is an input");
        let ty = &forward.program.tensors[tensor].ty;
        let derived = gradient.map_or_else(|| vec![0.0; ty.shape.elements()], |gradient| gradient.to_f64());
        let at = inputs[position].to_f64();
        let scale = derived.iter().fold(SMALLEST_SCALE, |scale: f64, derivative| scale.max(derivative.abs()));
        for element in 0..at.len().min(MOST_ELEMENTS) {
            let moved = |distance: f64| {
                let mut moved = at.clone();
                moved[element] += distance;
                let mut inputs = inputs.clone();
                inputs[position] = Tensor::from_f64(ty.clone(), &moved);
                value(&inputs).unwrap_or(f64::NAN)
            };
            let central = |step: f64| (moved(step) - moved(-step)) / (2.0 * step);
            // Richardson's extrapolation: what is left of the error is of the fourth order.
            let difference = (4.0 * central(STEP / 2.0) - central(STEP)) / 3.0;
            let derivative = derived[element];
            assert!(
                (difference - derivative).abs() <= TOLERANCE * scale.max(difference.abs()),
                "{name}: by element {element} of input {position} it is {derivative}, and differences say {difference}"
            );
        }
    }
    Outcome::Agree
}

/// The gradients at a point of the sum of outputs, weighted.
fn gradients(
    name: &str,
    forward: &Differentiable,
    outputs: &[TensorId],
    weights: &[Tensor],
    wanted: &[TensorId],
    inputs: &[Tensor],
) -> Vec<Option<Tensor>> {
    let mut program = ProgramBuilder::extending(forward.clone());
    let seeds: Vec<(TensorId, TensorId)> =
        outputs.iter().zip(weights).map(|(&output, weight)| (output, program.constant(weight.clone()))).collect();
    let gradients = append_gradients(&mut program, forward, &seeds, wanted);
    let gradients = gradients.unwrap_or_else(|error| panic!("{name}: {error}"));
    let program = program.finish(gradients.iter().flatten().copied().collect());
    assert_eq!(program.verify(), Ok(()), "{name}");
    let mut values = evaluate(&program, inputs).unwrap_or_else(|error| panic!("{name}: {error}")).into_iter();
    gradients.iter().map(|gradient| gradient.and_then(|_| values.next())).collect()
}

/// One tensor for each input: doubles between two values, places where elements name some, else 0 or 1.
pub fn inputs(program: &TensorProgram, range: (f64, f64), random: &mut Random) -> Vec<Tensor> {
    let checks = IndexCheck::of(program);
    let input = |&tensor: &TensorId| {
        let ty = &program.tensors[tensor].ty;
        if ty.element.is_float() {
            return doubles(ty, range, random);
        }
        let extent = checks.iter().filter(|check| check.tensor == tensor).map(|check| check.extent).min().unwrap_or(2);
        let values = (0..ty.shape.elements()).map(|_| random.below(extent as usize) as i64);
        Tensor::from_i64(ty.clone(), &values.collect::<Vec<i64>>())
    };
    program.inputs.iter().map(input).collect()
}

/// Values between two.
pub fn doubles(ty: &TensorType, (low, high): (f64, f64), random: &mut Random) -> Tensor {
    const PARTS: usize = 1 << 24;
    let value = |_| low + (high - low) * random.below(PARTS) as f64 / PARTS as f64;
    Tensor::from_f64(ty.clone(), &(0..ty.shape.elements()).map(value).collect::<Vec<f64>>())
}

/// The sum of the products of elements.
pub fn product(one: &Tensor, other: &Tensor) -> f64 {
    one.to_f64().iter().zip(other.to_f64()).map(|(one, other)| one * other).sum()
}
