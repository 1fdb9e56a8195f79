//! Losses and their gradients against PyTorch's formulas, written out here.

use warpweave::graph::autodiff::append_gradients;
use warpweave::graph::program::Differentiable;
use warpweave::graph::program::ProgramBuilder;
use warpweave::graph::reference::evaluate;
use warpweave::graph::training::Loss;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave_tests::suite::Suite;

/// Scores of four samples of three classes.
const SCORES: [f64; 12] = [0.5, -1.0, 2.0, 0.0, 0.0, 0.0, -3.0, 1.0, 1.5, 2.0, 2.5, -0.5];
const CLASSES: [i64; 4] = [2, 0, -1, 1];
const CLASS_COUNT: usize = 3;
const TOLERANCE: f64 = 1e-12;

/// A trial a loss.
pub fn add(suite: &mut Suite) {
    for (name, smoothing) in [("plain", 0.0), ("smoothed", 0.1)] {
        suite.trial(format!("cross entropy {name}"), move || check_cross_entropy(smoothing));
    }
    suite.trial("mean squared error", || {
        let targets: Vec<f64> = SCORES.iter().map(|score| score * 0.5 + 0.1).collect();
        let count = SCORES.len() as f64;
        let distances = SCORES.iter().zip(&targets).map(|(score, target)| score - target);
        let loss = distances.clone().map(|distance| distance * distance / count).sum();
        let gradient: Vec<f64> = distances.map(|distance| 2.0 * distance / count).collect();
        check(Loss::MeanSquaredError, doubles(&targets), loss, &gradient);
    });
    suite.trial("binary cross entropy", || {
        let targets: Vec<f64> = (0..SCORES.len()).map(|at| (at % 3) as f64 / 2.0).collect();
        let count = SCORES.len() as f64;
        let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
        let of = |(score, target): (&f64, &f64)| {
            -(target * logistic(*score).ln() + (1.0 - target) * (1.0 - logistic(*score)).ln()) / count
        };
        let loss = SCORES.iter().zip(&targets).map(of).sum();
        let gradient: Vec<f64> =
            SCORES.iter().zip(&targets).map(|(score, target)| (logistic(*score) - target) / count).collect();
        check(Loss::BinaryCrossEntropy, doubles(&targets), loss, &gradient);
    });
}

fn doubles(values: &[f64]) -> Tensor {
    Tensor::from_f64(TensorType::new(ElementType::F64, [4, CLASS_COUNT]), values)
}

/// The third sample is ignored.
fn check_cross_entropy(smoothing: f64) {
    let counted: Vec<usize> = (0..4).filter(|&sample| CLASSES[sample] >= 0).collect();
    let (mut loss, mut gradient) = (0.0, vec![0.0; SCORES.len()]);
    for &sample in &counted {
        let scores = &SCORES[sample * CLASS_COUNT..][..CLASS_COUNT];
        let total: f64 = scores.iter().map(|score| score.exp()).sum();
        for class in 0..CLASS_COUNT {
            let probability = scores[class].exp() / total;
            let own = if class as i64 == CLASSES[sample] { 1.0 - smoothing } else { 0.0 };
            let wanted = own + smoothing / CLASS_COUNT as f64;
            loss -= wanted * probability.ln() / counted.len() as f64;
            gradient[sample * CLASS_COUNT + class] = (probability - wanted) / counted.len() as f64;
        }
    }
    let target = Tensor::from_i64(TensorType::new(ElementType::I64, [4]), &CLASSES);
    check(Loss::CrossEntropy { label_smoothing: smoothing, ignored: -1 }, target, loss, &gradient);
}

fn check(loss: Loss, target: Tensor, wanted: f64, gradient: &[f64]) {
    let mut program = ProgramBuilder::new();
    let scores = program.input(TensorType::new(ElementType::F64, [4, CLASS_COUNT]));
    let expected = loss.target(program.ty(scores)).expect("the loss takes scores");
    assert_eq!(&expected, target.ty());
    let given = program.input(expected);
    let value = loss.append(&mut program, scores, given);
    let forward: Differentiable = program.finish_differentiable(vec![value]).with_reduced_values();
    let mut program = ProgramBuilder::extending(forward.clone());
    let seed = program.constant(Tensor::from_f64(program.ty(value).clone(), &[1.0]));
    let found = append_gradients(&mut program, &forward, &[(value, seed)], &[scores]).expect("it is differentiable");
    let program = program.finish(vec![value, found[0].expect("the loss depends on the scores")]);
    let outputs = evaluate(&program, &[doubles(&SCORES), target]).expect("it has a value");
    let close = |found: f64, wanted: f64| (found - wanted).abs() <= TOLERANCE * wanted.abs().max(1.0);
    assert!(close(outputs[0].to_f64()[0], wanted), "the loss is {}, not {wanted}", outputs[0].to_f64()[0]);
    let pairs: Vec<(f64, f64)> = outputs[1].to_f64().into_iter().zip(gradient.iter().copied()).collect();
    assert!(pairs.iter().all(|&(found, wanted)| close(found, wanted)), "gradients found and wanted: {pairs:?}");
}
