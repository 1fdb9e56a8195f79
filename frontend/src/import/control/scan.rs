//! `Scan`: a graph applied to the slices of tensors one after another, unrolled.

use warpweave_graph::Tensor;

use super::super::error::ImportError;
use super::super::flatten::{FlatNode, SymbolId};
use super::super::walk::{Refusal, State, Walk};
use super::block::{Block, give, operator};
use super::stack::{self, Order};

/// The oldest opset whose meaning of the operator is implemented.
const OLDEST: i64 = 9;

/// The iterations one after another.
pub(super) fn fold<'m>(walk: &mut Walk<'m>, node: &FlatNode<'m>) -> Result<(), Refusal> {
    if node.opset.is_some_and(|opset| opset < OLDEST) {
        return Err(format!("opset {} is older than {OLDEST}, the oldest supported", node.opset.unwrap_or(0)).into());
    }
    let block = Block::new(walk, node, "body")?;
    let inputs: Option<Vec<SymbolId>> = node.inputs.iter().copied().collect();
    let inputs = inputs.ok_or_else(|| "an input is missing".to_owned())?;
    let scanned = node.attributes.iter().find(|(name, _)| *name == "num_scan_inputs").map(|(_, value)| value.i);
    let scanned = scanned.and_then(|count| usize::try_from(count).ok()).filter(|&count| count > 0);
    let states = scanned.and_then(|count| inputs.len().checked_sub(count));
    let states = states.ok_or_else(|| "attribute num_scan_inputs does not fit the inputs".to_owned())?;
    let collected = block.graph.output.len().checked_sub(states);
    let collected = collected.ok_or_else(|| "the body has fewer outputs than the scan has states".to_owned())?;
    if node.outputs.len() > states + collected {
        return Err("the scan has more outputs than its body gives".to_owned().into());
    }
    let (mut carried, sources) = (inputs[..states].to_vec(), &inputs[states..]);
    let input_orders = orders(node, ("scan_input_axes", "scan_input_directions"), sources.len())?;
    let output_orders = orders(node, ("scan_output_axes", "scan_output_directions"), collected)?;
    let Some(trips) = trips(walk, sources, &input_orders)? else { return Ok(()) };
    if trips as u64 > walk.limits.trips {
        let (culprit, limit) = (node.name.clone(), walk.limits.trips);
        return Err(ImportError::Limit { culprit, what: "number of iterations", limit }.into());
    }
    let listed = walk.unsupported.len();
    let mut parts = vec![Vec::new(); collected];
    for at in 0..trips {
        let prefix = format!("{}/{at}", node.name);
        let mut arguments = carried.clone();
        for (&source, order) in sources.iter().zip(&input_orders) {
            let place = if order.reversed { trips - 1 - at } else { at };
            let slice = walk.flattening.symbol(&prefix, "slice");
            let place = walk.constant(&prefix, Tensor::scalar(place));
            let gather = operator("Gather", &[("axis", order.axis)])?;
            walk.apply(&prefix, gather, &[Some(source), Some(place)], &[Some(slice)])?;
            arguments.push(slice);
        }
        let mut outputs = block.run(walk, &arguments, &prefix)?;
        // Later iterations would say the same.
        if walk.unsupported.len() > listed {
            return Ok(());
        }
        parts.iter_mut().zip(outputs.drain(states..)).for_each(|(parts, part)| parts.push(part));
        carried = outputs;
    }
    for (at, outer) in node.outputs.iter().enumerate() {
        let Some(outer) = *outer else { continue };
        match at.checked_sub(states) {
            None => give(walk, node, Some(outer), carried[at])?,
            Some(at) if trips == 0 => {
                let empty = stack::none(&block.graph.output[states + at], output_orders[at].axis)?;
                walk.define(outer, State::Constant(empty));
            }
            Some(at) => stack::stack(walk, &node.name, &parts[at], output_orders[at], outer)?,
        }
    }
    Ok(())
}

/// Axes and directions from a pair of attributes; without them, the first dimension, forwards.
fn orders(
    node: &FlatNode,
    (axes, directions): (&'static str, &'static str),
    count: usize,
) -> Result<Vec<Order>, String> {
    let read = |name: &str| match node.attributes.iter().find(|(known, _)| *known == name) {
        None => Ok(vec![0; count]),
        Some((_, value)) if value.ints.len() == count => Ok(value.ints.clone()),
        Some(_) => Err(format!("attribute {name} does not have {count} elements")),
    };
    let pairs = read(axes)?.into_iter().zip(read(directions)?);
    let order = |(axis, direction)| match direction {
        0 | 1 => Ok(Order { axis, reversed: direction == 1 }),
        _ => Err(format!("attribute {directions}: {direction} is neither 0 nor 1")),
    };
    pairs.map(order).collect()
}

/// How many slices the sources have; `None` if nothing is known of one.
fn trips(walk: &Walk, sources: &[SymbolId], orders: &[Order]) -> Result<Option<i64>, String> {
    let mut trips = None;
    for (&source, order) in sources.iter().zip(orders) {
        let Some(fact) = walk.fact(source) else { return Ok(None) };
        let shape = fact.ty.as_tensor().map(|ty| ty.shape.clone());
        let extent = shape.and_then(|shape| {
            let rank = shape.len() as i64;
            let axis = if order.axis < 0 { order.axis + rank } else { order.axis };
            shape.get(usize::try_from(axis).ok()?).copied()
        });
        let extent = extent.ok_or_else(|| format!("axis {} lies outside {}", order.axis, fact.ty))? as i64;
        if trips.is_some_and(|trips| trips != extent) {
            return Err("the scanned inputs differ in length".to_owned());
        }
        trips = Some(extent);
    }
    Ok(trips)
}
