//! Values of stages that reduce.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::Reducer;
use warpweave_graph::{ElementType, arithmetic};

use super::lanes::{LANES, Lanes, binary, splat};
use super::memory::Memory;
use super::points::{for_each_run, for_each_value};
use super::product::HostProduct;
use super::stage::{HostStage, Run};

/// A stage's reduced value at one point of the tile axes; floating point is combined in doubles.
pub(super) fn reduce_row(
    stage: &HostStage,
    reducer: Reducer,
    inner: &[usize],
    point: &mut [i64],
    values: &[Option<Lanes>],
    memory: &Memory,
) -> Lanes {
    let (op, element) = (reducer.op(), stage.expr.body_element());
    let identity = reducer.identity(element);
    let (mut float, mut integer) = (identity.to_f64(), identity.to_i64());
    let add = |total: f64, value: f64| arithmetic::float_binary(op, total, value);
    for_each_run(stage, inner, point, &mut |run| match stage.evaluate(&stage.body, memory, run, values, None) {
        Lanes::Float(lanes) => {
            float = lanes[..run.count].iter().fold(float, |total, &value| add(total, f64::from(value)));
        }
        Lanes::Double(lanes) => float = lanes[..run.count].iter().fold(float, |total, &value| add(total, value)),
        Lanes::Integer(lanes) => {
            let add = |total: i64, &value: &i64| arithmetic::integer_binary(op, element, total, value);
            integer = lanes[..run.count].iter().fold(integer, add);
        }
    });
    match element {
        ElementType::F64 => Lanes::Double([float; LANES]),
        element if element.is_float() => Lanes::Float([float as f32; LANES]),
        _ => Lanes::Integer([integer; LANES]),
    }
}

/// A stage's value on this many neighbouring points along an axis, its reductions one value after another.
pub(super) fn stage_lanes(
    stage: &HostStage,
    product: Option<&HostProduct>,
    point: &mut [i64],
    (axis, count): (Option<usize>, usize),
    memory: &Memory,
    values: &[Option<Lanes>],
) -> Lanes {
    let reduced = stage.expr.reducer.map(|reducer| {
        if let Some(product) = product {
            return product.sums(stage, memory, point, (axis, count), values);
        }
        let element = stage.expr.body_element();
        let mut sum: Option<Lanes> = None;
        let axes: Vec<usize> = stage.expr.reduced().map(Id::index).collect();
        for_each_value(stage, &axes, point, &mut |point| {
            let run = Run { point, axis, count };
            let value = stage.evaluate(&stage.body, memory, &run, values, None);
            sum = Some(sum.take().map_or_else(|| value.clone(), |sum| binary(reducer.op(), element, &sum, &value)));
        });
        sum.unwrap_or_else(|| splat(reducer.identity(element)))
    });
    stage.finish(memory, &Run { point, axis, count }, values, reduced)
}
