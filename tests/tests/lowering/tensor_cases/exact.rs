//! What programs give whose contractions sum as tensor cores do: a scalar loop over exact dot products, in a kernel's order.

use warpweave::graph::arena::{Arena, Id};
use warpweave::graph::expr::{Axis, AxisId, AxisKind, Guard, Index, Literal, Read, Scalar, TensorExpr};
use warpweave::graph::program::{Definition, Source, TensorId, TensorProgram};
use warpweave::graph::reference::evaluate_expression;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::plan::template::contraction::Contraction;
use warpweave::plan::template::contraction::shape::ContractionShape;
use warpweave::plan::template::contraction::unit::ComputeUnit;
use warpweave::plan::template::contraction::unit::mma::DEPTH;
use warpweave::plan::tensor_core::sum::{FactorFormat, SumFormat, TensorCore, Term};

/// How far a sum of products may lie from the exact one, for each addition to it, of the sum of the products' magnitudes: 2⁻²² on Hopper, 2⁻²¹
/// on Ampere.
fn tolerance(core: TensorCore) -> f64 {
    match core {
        TensorCore::Hopper => 2f64.powi(-22),
        TensorCore::Ampere => 2f64.powi(-21),
    }
}

/// In which order a kernel sums.
pub struct Order {
    /// Its shape, with the parts of the reduction.
    pub shape: ContractionShape,
    /// The extents of the reduced axes as the kernel has them, the last fastest.
    pub reduction: Vec<usize>,
}

/// The outputs of a program all of whose contractions of halves sum in this order.
///
/// # Panics
/// If a sum lies too far from the exact one.
pub fn evaluate(program: &TensorProgram, inputs: &[Tensor], order: &Order, core: TensorCore) -> Vec<Tensor> {
    let mut values: Vec<Option<Tensor>> = program
        .tensors
        .iter()
        .map(|(id, tensor)| match &tensor.source {
            Source::Input(position) => Some(inputs[*position].clone()),
            Source::Constant(_) | Source::State(_) | Source::Statement(_) => program.stored(id).cloned(),
        })
        .collect();
    for statement in program.statements.values() {
        let Definition::Compute(expr) = &statement.definition else { panic!("a case computes") };
        let value = |id: &TensorId| values[id.index()].clone().expect("tensors are defined before they are read");
        let operands: Vec<Tensor> = statement.operands.iter().map(value).collect();
        let contraction = Contraction::of_expression(expr);
        let contraction = contraction.filter(|contraction| ComputeUnit::Mma.multiplies(contraction.numerics()));
        let result = match contraction {
            Some(contraction) => finish(expr, operands.clone(), sums(expr, &operands, &contraction, (order, core))),
            None => evaluate_expression(expr, &operands).unwrap_or_else(|error| panic!("{error}")),
        };
        values[statement.output.index()] = Some(result);
    }
    program.outputs.iter().map(|id| values[id.index()].clone().expect("outputs are defined")).collect()
}

/// The sums of a contraction, row by row.
fn sums(
    expr: &TensorExpr,
    operands: &[Tensor],
    contraction: &Contraction,
    (order, core): (&Order, TensorCore),
) -> Vec<f32> {
    let shape = &order.shape;
    let format = match contraction.storage {
        ElementType::BF16 => FactorFormat::BFloat16,
        _ => FactorFormat::Half,
    };
    let Scalar::Binary(_, left, right) = &expr.body else { panic!("a contraction multiplies") };
    let [left, right] =
        [left, right].map(|factor| Factor::new((expr, operands), factor, (contraction.storage, format)));
    let points = Points::new(expr, order);
    let mut found = Vec::new();
    for &first in &points.outputs {
        let mut whole = 0.0;
        let (mut magnitude, mut exact, mut additions) = (0.0, 0.0, 0.0);
        for part in &points.parts {
            let places: Vec<usize> = part.iter().map(|place| first + place).collect();
            for product in places.iter().map(|&place| left.values[place] * right.values[place]) {
                magnitude += product.abs();
                exact += product;
            }
            let steps = places.len().div_ceil(shape.k_tile);
            additions += (steps * shape.k_tile / DEPTH + shape.k_slices) as f64;
            let term = |factor: &Factor, at: usize| places.get(at).map_or(Term::ZERO, |&place| factor.terms[place]);
            let of_slice = |slice: usize| {
                let own = shape.k_tile / shape.k_slices;
                let mut sum = 0u32;
                for begin in (0..steps)
                    .flat_map(|step| (0..own).step_by(DEPTH).map(move |at| step * shape.k_tile + slice * own + at))
                {
                    let terms =
                        |factor: &Factor| -> Vec<Term> { (begin..begin + DEPTH).map(|at| term(factor, at)).collect() };
                    sum = core.dot(format, SumFormat::Single, &terms(&left), &terms(&right), sum);
                }
                f32::from_bits(sum)
            };
            let slices: Vec<f32> = (0..shape.k_slices).map(of_slice).collect();
            whole += added(&slices);
        }
        let apart = (f64::from(whole) - exact).abs();
        assert!(apart <= (additions + 1.0) * tolerance(core) * magnitude, "{whole} is {apart} away from {exact}");
        found.push(whole);
    }
    found
}

/// The sum of the slices' sums: those of the second half to those of the first, then one after another.
fn added(slices: &[f32]) -> f32 {
    match slices {
        [one] => *one,
        _ => {
            let (first, second) = slices.split_at(slices.len() / 2);
            first
                .iter()
                .zip(second)
                .map(|(first, second)| first + second)
                .reduce(|sum, next| sum + next)
                .expect("there are some")
        }
    }
}

/// A factor at every point of an expression, all axes in order.
struct Factor {
    values: Vec<f64>,
    terms: Vec<Term>,
}

impl Factor {
    fn new(
        (expr, operands): (&TensorExpr, &[Tensor]),
        factor: &Scalar,
        (storage, format): (ElementType, FactorFormat),
    ) -> Self {
        let parallel = |axis: &Axis| Axis { kind: AxisKind::Parallel, ..*axis };
        let axes: Arena<AxisId, Axis> = expr.axes.values().map(parallel).collect();
        let element = expr.element_of(factor);
        let own = TensorExpr { axes, body: factor.clone(), reducer: None, epilogue: None, element, ..expr.clone() };
        let values = evaluate_expression(&own, operands).unwrap_or_else(|error| panic!("{error}")).to_f64();
        let stored = Tensor::from_f64(TensorType::new(storage, vec![values.len()]), &values);
        assert_eq!(stored.to_f64(), values, "a factor is what is stored");
        let codes = stored.bytes().chunks_exact(2).map(|bytes| u32::from(u16::from_le_bytes([bytes[0], bytes[1]])));
        Self { terms: codes.map(|code| format.decode(code)).collect(), values }
    }
}

/// Where points of an expression lie among all, row by row.
struct Points {
    /// The first point of each output, in order.
    outputs: Vec<usize>,
    /// How far the points of each part of a reduction lie from an output's first one, in order.
    parts: Vec<Vec<usize>>,
}

impl Points {
    fn new(expr: &TensorExpr, order: &Order) -> Self {
        let extents: Vec<usize> = expr.axes.values().map(|axis| axis.extent).collect();
        let along = |kind: AxisKind| {
            let mut found = vec![0];
            for (at, axis) in expr.axes.values().enumerate().filter(|(_, axis)| axis.kind == kind) {
                let apart: usize = extents[at + 1..].iter().product();
                found =
                    found.iter().flat_map(|first| (0..axis.extent).map(move |place| first + place * apart)).collect();
            }
            found
        };
        let count = order.shape.split_k;
        let divided = order.reduction.iter().position(|extent| extent.is_multiple_of(count));
        let divided = divided.expect("a reduced axis divides");
        let inner: usize = order.reduction[divided + 1..].iter().product();
        let part_of = |number: usize| number / inner % order.reduction[divided] / (order.reduction[divided] / count);
        let points = along(AxisKind::Reduced);
        let part = |part: usize| {
            let own = points.iter().enumerate().filter(|(number, _)| part_of(*number) == part);
            own.map(|(_, place)| *place).collect()
        };
        Self { outputs: along(AxisKind::Parallel), parts: (0..count).map(part).collect() }
    }
}

/// What an expression makes of its sums.
fn finish(expr: &TensorExpr, mut operands: Vec<Tensor>, sums: Vec<f32>) -> Tensor {
    let parallel: Vec<AxisId> = expr.parallel().collect();
    let extents: Vec<usize> = parallel.iter().map(|&axis| expr.axes[axis].extent).collect();
    assert!(parallel.iter().enumerate().all(|(at, axis)| axis.index() == at), "parallel axes come first");
    let ty = TensorType::new(ElementType::F32, extents);
    let mut own = TensorExpr { reducer: None, epilogue: None, ..expr.clone() };
    own.axes = parallel.iter().map(|&axis| expr.axes[axis]).collect();
    own.operands.push(ty.clone());
    let index = own.axes.ids().map(Index::axis).collect();
    let fill = Literal::new(ElementType::F32, 0.0);
    let sum = own.reads.push(Read { operand: own.operands.len() - 1, index, guard: Guard::always(), fill });
    own.body = match &expr.epilogue {
        Some(epilogue) => epilogue.map_leaves(&mut |leaf| match leaf {
            Scalar::Reduced => Scalar::Read(sum),
            other => other.clone(),
        }),
        None => Scalar::Read(sum),
    };
    // Reads of the factors go along axes that are no more.
    let used = own.reads_of(&own.body);
    let unused = own.reads.ids().filter(|read| !used.contains(read)).collect::<Vec<_>>();
    for read in unused {
        own.reads[read] = Read { operand: own.operands.len() - 1, ..own.reads[sum].clone() };
    }
    operands.push(Tensor::from_f64(ty, &sums.iter().map(|&sum| f64::from(sum)).collect::<Vec<_>>()));
    evaluate_expression(&own, &operands).unwrap_or_else(|error| panic!("{error}"))
}
