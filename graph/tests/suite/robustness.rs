//! Whatever an operator is given, it answers or refuses; what it accepts, it computes as inferred.

use crate::random::Random;
use warpweave_graph::ops::{
    Attribute, AttributeError, AttributeReader, Context, Fact, ImportError, NEWEST_OPSET, Op, Registration,
};
use warpweave_graph::program::{Definition, ProgramBuilder};
use warpweave_graph::reference::{ReferenceError, evaluate};
use warpweave_graph::types::{Shape, TensorType};
use warpweave_graph::{ElementType, Tensor, ValueType};

/// Names that operators take; each is given with every kind of value.
const NAMES: [&str; 40] = [
    "axis",
    "axes",
    "keepdims",
    "noop_with_empty_axes",
    "kernel_shape",
    "strides",
    "dilations",
    "pads",
    "auto_pad",
    "ceil_mode",
    "count_include_pad",
    "group",
    "output_padding",
    "output_shape",
    "alpha",
    "beta",
    "transA",
    "transB",
    "perm",
    "to",
    "mode",
    "value",
    "allowzero",
    "starts",
    "ends",
    "split",
    "num_outputs",
    "epsilon",
    "direction",
    "hidden_size",
    "layout",
    "linear_before_reset",
    "coordinate_transformation_mode",
    "nearest_mode",
    "min",
    "max",
    "start",
    "end",
    "approximate",
    "onward",
];

const TEXTS: [&str; 14] = [
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "constant",
    "edge",
    "wrap",
    "nearest",
    "linear",
    "cubic",
    "bidirectional",
    "reverse",
    "asymmetric",
    "align_corners",
    "tanh",
];

/// Mostly small, sometimes as large as can be.
fn integer(random: &mut Random) -> i64 {
    match random.below(24) {
        0 => *random.choose(&[i64::MIN, i64::MAX, 1 << 62, -(1 << 40)]),
        _ => random.between(-3, 4),
    }
}

fn integers(random: &mut Random) -> Vec<i64> {
    (0..random.below(5)).map(|_| integer(random)).collect()
}

fn attribute(random: &mut Random) -> (String, Attribute) {
    let name = *random.choose(&NAMES);
    let value = match random.below(8) {
        0 | 1 => Attribute::Int(integer(random)),
        2 | 3 => Attribute::Ints(integers(random)),
        4 => Attribute::Ints(vec![random.between(1, 3); random.below(3) + 1]),
        5 => Attribute::Float(*random.choose(&[0.0, 1.0, -2.5, f32::INFINITY, f32::NAN])),
        6 => Attribute::String((*random.choose(&TEXTS)).to_owned()),
        _ => Attribute::Tensor(Tensor::new([1], &[integer(random)])),
    };
    (name.to_owned(), value)
}

fn shape(random: &mut Random) -> Shape {
    let rank = random.below(6);
    (0..rank).map(|_| *random.choose(&[0, 1, 1, 2, 2, 3, 3, 4, 6])).collect()
}

const ELEMENTS: [ElementType; 8] = [
    ElementType::F32,
    ElementType::F32,
    ElementType::F32,
    ElementType::F16,
    ElementType::I64,
    ElementType::I32,
    ElementType::U8,
    ElementType::Bool,
];

/// What is known of the input at a position: often of the usual type and the shape that goes with the position.
fn fact(random: &mut Random, known: &[Shape], position: usize, usual: ElementType) -> Option<Fact> {
    if random.below(16) == 0 {
        return None;
    }
    if random.below(4) == 0 {
        let values = integers(random);
        let value = Tensor::vector_i64(&values);
        return Some(Fact { ty: value.ty().clone().into(), value: Some(value) });
    }
    let element = if random.below(8) == 0 { *random.choose(&ELEMENTS) } else { usual };
    let shape = match known.get(position) {
        Some(shape) if random.below(4) > 0 => shape.clone(),
        Some(_) | None if random.below(2) == 0 => random.choose(known).clone(),
        Some(_) | None => shape(random),
    };
    let ty = TensorType { element, shape };
    let elements: Vec<i64> = (0..ty.shape.elements()).map(|_| random.between(-2, 3)).collect();
    let value = (random.below(3) == 0).then(|| Tensor::from_i64(ty.clone(), &elements));
    Some(Fact { ty: ty.into(), value })
}

/// Shapes that go together often: an image, weights, a sequence, and their parameters.
fn known(random: &mut Random) -> Vec<Shape> {
    let choices: [&[&[usize]]; 7] = [
        &[&[2, 3, 4], &[3], &[3], &[3], &[3]],
        &[&[3, 2, 4], &[1, 9, 4], &[1, 9, 3], &[1, 18], &[1], &[1, 2, 3]],
        &[&[1, 2, 5, 4], &[2, 2, 3, 3], &[2, 1, 2, 2], &[2]],
        &[&[1, 4, 6], &[4, 2, 3], &[4, 1, 2], &[4]],
        &[&[3, 2, 4], &[1, 12, 4], &[1, 12, 3], &[1, 24], &[1, 2, 3]],
        &[&[2, 3], &[3, 2], &[3], &[1, 3], &[]],
        &[&[1, 2, 3, 3, 3], &[2, 2, 2, 2, 2], &[2]],
    ];
    random.choose(&choices).iter().map(|extents| Shape::from(*extents)).collect()
}

/// Checks one application of an operator; whether it was accepted.
fn try_one(random: &mut Random, domain: &str, name: &str) -> bool {
    let mut attributes: Vec<_> = (0..random.below(8)).map(|_| attribute(random)).collect();
    let opset = random.between(7, NEWEST_OPSET);
    let op = loop {
        match Op::import(domain, name, &mut AttributeReader::new(attributes.clone(), opset)) {
            Ok(op) => break op,
            Err(ImportError::Attribute(AttributeError::Unknown(name))) => attributes.retain(|(own, _)| *own != name),
            Err(_) => return false,
        }
    };
    let same = Op::import(domain, name, &mut AttributeReader::new(named(&op), NEWEST_OPSET));
    assert_eq!(format!("{same:?}"), format!("{:?}", Ok::<_, ()>(&op)), "its attributes make the operator again");

    let shapes = known(random);
    let usual = *random.choose(&ELEMENTS);
    let facts: Vec<Option<Fact>> = (0..random.below(6)).map(|at| fact(random, &shapes, at, usual)).collect();
    let outputs = *random.choose(&[1, 1, 1, 2, 3]);
    let context = Context::new(&facts, outputs);
    let Ok(types) = op.infer(&context) else { return false };
    let small = |ty: &ValueType| {
        let ty = ty.as_tensor().expect("operators give tensors");
        ty.shape.len() <= 8
            && ty.shape.iter().try_fold(1usize, |n, &e| n.checked_mul(e.max(1))).is_some_and(|n| n <= 4096)
    };
    if types.len() < outputs || !types.iter().all(small) {
        return false;
    }
    let mut program = ProgramBuilder::new();
    let mut given = Vec::new();
    let mut inputs = Vec::new();
    for fact in &facts {
        inputs.push(fact.as_ref().map(|fact| match &fact.value {
            Some(value) => program.constant(value.clone()),
            None => {
                let ty = fact.ty.as_tensor().expect("facts are tensors");
                given.push(Tensor::from_i64(ty.clone(), &vec![1; ty.shape.elements()]));
                program.input(ty.clone())
            }
        }));
    }
    let results = op.lower(&context, &inputs, &mut program);
    let program = program.finish(results[..outputs].to_vec()).pruned();
    let points = program.statements.values().map(|statement| match &statement.definition {
        Definition::Compute(expr) => expr.axes.values().fold(1usize, |n, axis| n.saturating_mul(axis.extent)),
        Definition::Opaque(opaque) => opaque.access.axes.values().fold(1usize, |n, axis| n.saturating_mul(axis.extent)),
        Definition::Concat { .. } => 0,
    });
    if points.fold(0, usize::saturating_add) > 1 << 20 {
        return false;
    }
    let values = match evaluate(&program, &given) {
        Ok(values) => values,
        Err(ReferenceError::Index(_)) => return true,
        Err(error) => panic!("{op:?} of {facts:?}: {error}"),
    };
    for (value, ty) in values.iter().zip(&types) {
        assert_eq!(Some(value.ty()), ty.as_tensor(), "{op:?} of {facts:?}");
    }
    true
}

fn named(op: &Op) -> Vec<(String, Attribute)> {
    op.attributes().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn operators_answer_or_refuse() {
    let mut random = Random::new(6);
    let mut accepted = 0;
    for Registration { domain, name, .. } in Op::registered() {
        accepted += (0..5000).filter(|_| try_one(&mut random, domain, name)).count();
    }
    assert!(accepted > 10_000, "only {accepted} applications were accepted");
}
