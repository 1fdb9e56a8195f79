//! Seeded tensors.

pub use warpweave::codegen::emulate::random::Random;
use warpweave::graph::index_check::IndexCheck;
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::graph::{Tensor, TensorType};

/// A tensor of small values: eighths between −2 and 2 for floating point, whole numbers from −8 to 8 otherwise.
pub fn tensor(random: &mut Random, ty: &TensorType) -> Tensor {
    let element = ty.element;
    let elements = 0..ty.shape.elements();
    if element.is_float() {
        let values: Vec<f64> = elements.map(|_| (random.below(33) as f64 - 16.0) / 8.0).collect();
        return Tensor::from_f64(ty.clone(), &values);
    }
    let values: Vec<i64> = elements.map(|_| random.below(17) as i64 - 8).collect();
    Tensor::from_i64(ty.clone(), &values)
}

/// One tensor for each input of a program. The elements of one that indexes a dimension name places there.
pub fn inputs(random: &mut Random, program: &TensorProgram) -> Vec<Tensor> {
    let checks = IndexCheck::of(program);
    let input = |&input: &TensorId| {
        let ty = &program.tensors[input].ty;
        let extent = checks.iter().filter(|check| check.tensor == input).map(|check| check.extent).min();
        let Some(extent) = extent else { return tensor(random, ty) };
        let values = (0..ty.shape.elements()).map(|_| random.below(2 * extent as usize) as i64 - extent);
        Tensor::from_i64(ty.clone(), &values.collect::<Vec<i64>>())
    };
    program.inputs.iter().map(input).collect()
}

/// One tensor for each input of a program that takes integers as indices: they are 0 or 1.
pub fn indices(random: &mut Random, program: &TensorProgram) -> Vec<Tensor> {
    let one = |random: &mut Random, ty: &TensorType| {
        if ty.element.is_float() {
            return tensor(random, ty);
        }
        let values: Vec<i64> = (0..ty.shape.elements()).map(|_| random.below(2) as i64).collect();
        Tensor::from_i64(ty.clone(), &values)
    };
    program.inputs.iter().map(|&input| one(random, &program.tensors[input].ty)).collect()
}
