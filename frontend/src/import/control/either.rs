//! One of two values by a condition of the graph, whose extents may differ along a dimension: as many elements count as the
//! chosen one has.

use std::collections::BTreeMap;

use warpweave_graph::{Tensor, TensorType, ValueId};

use super::super::counts::{Count, Part};
use super::super::flatten::SymbolId;
use super::super::walk::{State, Walk};
use super::block::operator;

/// Choices by one condition. Pairs of values of the same extents give the same count.
pub(super) struct Choices {
    /// A truth value of the graph, a scalar.
    pub(super) condition: SymbolId,
    counts: BTreeMap<[Part; 2], ValueId>,
}

impl Choices {
    /// None so far.
    pub(super) fn new(condition: SymbolId) -> Self {
        Self { condition, counts: BTreeMap::new() }
    }

    /// Makes `output` the first of two values where the condition holds, else the second; of an unsupported value, nothing. The
    /// error says how the values differ where no tensor holds both.
    pub(super) fn choose(
        &mut self,
        walk: &mut Walk<'_>,
        name: &str,
        values: [SymbolId; 2],
        output: SymbolId,
    ) -> Result<(), String> {
        if values.iter().any(|&value| matches!(walk.state(value), State::Sequence(_))) {
            return Err("sequences".to_owned());
        }
        let [Some(then), Some(otherwise)] = values.map(|value| walk.fact(value)) else { return Ok(()) };
        let counts = values.map(|value| walk.count_of(value));
        let condition = Some(self.condition);
        if then.ty == otherwise.ty && counts[0] == counts[1] {
            let inputs = [condition, Some(values[0]), Some(values[1])];
            return Ok(walk.apply(name, operator("Where", &[])?, &inputs, &[Some(output)])?);
        }
        let refused = || format!("{} and {}", then.ty, otherwise.ty);
        let (Some(first), Some(second)) = (then.ty.as_tensor(), otherwise.ty.as_tensor()) else {
            return Err(refused());
        };
        let dimension = dimension([first, second], counts).filter(|_| !walk.trains).ok_or_else(refused)?;
        let count = |of: Option<Count>| of.map(|count| count.count);
        let part = |ty: &TensorType, of| Part { count: count(of), extent: ty.shape[dimension] };
        let parts = [part(first, counts[0]), part(second, counts[1])];
        let capacity = parts[0].extent.max(parts[1].extent);
        let whole =
            [padded(walk, name, values[0], dimension, capacity)?, padded(walk, name, values[1], dimension, capacity)?];
        walk.apply(name, operator("Where", &[])?, &[condition, Some(whole[0]), Some(whole[1])], &[Some(output)])?;
        let count = self.count(walk, name, parts)?;
        if let (State::Value(value), Some(count)) = (walk.state(output).clone(), count) {
            walk.counts.of.insert(value, Count { dimension, count });
        }
        Ok(())
    }

    /// How many elements of the chosen part count.
    fn count(&mut self, walk: &mut Walk<'_>, name: &str, parts: [Part; 2]) -> Result<Option<ValueId>, String> {
        if let Some(&known) = self.counts.get(&parts) {
            return Ok(Some(known));
        }
        let number = |walk: &mut Walk<'_>, Part { count, extent }: Part| match count {
            Some(count) => walk.symbol_of(name, count),
            None => walk.constant(name, Tensor::scalar(extent as i64)),
        };
        let [first, second] = parts.map(|part| number(walk, part));
        let count = walk.result(name, "Where", &[Some(self.condition), Some(first), Some(second)])?;
        let count = walk.value(count);
        self.counts.extend(count.map(|count| (parts, count)));
        Ok(count)
    }
}

/// The one dimension along which values differ or only some elements count.
fn dimension(types: [&TensorType; 2], counts: [Option<Count>; 2]) -> Option<usize> {
    let [first, second] = types;
    if first.element != second.element || first.shape.len() != second.shape.len() {
        return None;
    }
    let is_counted = |at: usize| counts.iter().flatten().any(|count| count.dimension == at);
    let mut open = (0..first.shape.len()).filter(|&at| first.shape[at] != second.shape[at] || is_counted(at));
    open.next().filter(|_| open.next().is_none())
}

/// The value with zeros behind it, up to the capacity; all of its elements count.
fn padded(
    walk: &mut Walk<'_>,
    name: &str,
    value: SymbolId,
    dimension: usize,
    capacity: usize,
) -> Result<SymbolId, String> {
    let all = walk.all_of(name, value)?;
    let Some(mut ty) = walk.tensor(all).filter(|ty| ty.shape[dimension] < capacity) else { return Ok(all) };
    let missing = capacity - ty.shape[dimension];
    if missing < capacity {
        let mut pads = vec![0; 2 * ty.shape.len()];
        pads[ty.shape.len() + dimension] = missing as i64;
        let pads = walk.constant(name, Tensor::vector_i64(&pads));
        return walk.result(name, "Pad", &[Some(all), Some(pads)]);
    }
    let extents = ty.shape.iter().enumerate();
    ty.shape = extents.map(|(at, &extent)| if at == dimension { capacity } else { extent }).collect();
    let zeros = vec![0; ty.bytes()];
    let zeros = Tensor::from_bytes(ty, zeros.into()).ok_or_else(|| "the extents are too large".to_owned())?;
    Ok(walk.constant(name, zeros))
}
