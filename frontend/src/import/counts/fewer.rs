//! Counts that are made of others: of what remains of a slice, and of the smallest of several extents.

use warpweave_graph::ops::layout::slice::Bounds;
use warpweave_graph::ops::{Attribute, Op};
use warpweave_graph::{ElementType, Tensor, ValueId, ValueType};

use super::super::flatten::SymbolId;
use super::super::walk::{Applied, State, Walk};
use super::known::Extent;
use super::masks::Neutral;

impl<'m> Walk<'m> {
    /// How many elements of so many that count stand within bounds. Equal bounds give the same count.
    pub(super) fn shortened(
        &mut self,
        name: &str,
        count: ValueId,
        bounds: Bounds,
        capacity: i64,
    ) -> Result<ValueId, String> {
        if bounds.is_all(capacity) {
            return Ok(count);
        }
        if let Some(&known) = self.counts.shortened.get(&(count, bounds)) {
            return Ok(known);
        }
        let Bounds { start, end, step } = bounds;
        let mut number = self.symbol_of(name, count);
        let mut by = |walk: &mut Self, operation: &str, other: i64| {
            let other = walk.constant(name, Tensor::scalar(other));
            number = walk.result(name, operation, &[Some(number), Some(other)])?;
            Ok::<(), String>(())
        };
        if end < 0 {
            by(self, "Add", end)?;
        } else if end < capacity {
            by(self, "Min", end)?;
        }
        if start > 0 {
            by(self, "Sub", start.min(capacity))?;
        }
        by(self, "Max", 0)?;
        if step > 1 {
            let step = step.min(capacity + 1);
            by(self, "Add", step - 1)?;
            by(self, "Div", step)?;
        }
        let State::Value(found) = *self.state(number) else { return Err(format!("`{name}` has no count")) };
        self.counts.shortened.insert((count, bounds), found);
        Ok(found)
    }

    /// Takes the smallest of extents that are counts; `false` if the node does something else.
    pub(in crate::import) fn take_smallest(
        &mut self,
        applied: Applied<'_>,
        types: &[ValueType],
    ) -> Result<bool, String> {
        let Applied { name, op, outputs, .. } = applied;
        let ([ty], &[Some(output)], Op::Min(_) | Op::ReduceMin(_)) = (types, outputs, op) else { return Ok(false) };
        let Some(shape) = ty.as_tensor().filter(|ty| ty.element == ElementType::I64).map(|ty| &ty.shape) else {
            return Ok(false);
        };
        let Some(extents) = self.all_extents(applied).filter(|_| shape.checked_elements() == Some(1)) else {
            return Ok(false);
        };
        let mut counts: Vec<(ValueId, i64)> = Vec::new();
        let mut most = i64::MAX;
        for extent in extents {
            match extent {
                Extent::Known(extent) => most = most.min(extent),
                Extent::Counted { count, capacity } if !counts.contains(&(count, capacity)) => {
                    counts.push((count, capacity));
                }
                Extent::Counted { .. } => {}
            }
        }
        let &[(count, capacity)] = counts.as_slice() else { return Ok(false) };
        if most < 0 {
            return Ok(false);
        }
        let count = self.shortened(name, count, Bounds { start: 0, end: most, step: 1 }, capacity)?;
        let extents = shape.iter().map(|&extent| extent as i64).collect::<Vec<_>>();
        let number = self.symbol_of(name, count);
        let like = self.constant(name, Tensor::vector_i64(&extents));
        let shaped = self.result(name, "Reshape", &[Some(number), Some(like)])?;
        self.define(output, self.state(shaped).clone());
        if let State::Value(value) = *self.state(output) {
            self.counts.extents.insert(value, vec![Extent::Counted { count, capacity: capacity.min(most) }]);
        }
        Ok(true)
    }

    /// The elements of all inputs, if each is an extent.
    fn all_extents(&self, Applied { inputs, facts, .. }: Applied<'_>) -> Option<Vec<Extent>> {
        let mut all = Vec::new();
        for (input, fact) in inputs.iter().zip(facts) {
            match (self.extents((*input)?), fact) {
                (Some(extents), _) => all.extend(extents),
                (None, Some(fact)) if fact.ty.as_tensor()?.element == ElementType::I64 => {
                    all.extend(fact.value.as_ref()?.to_i64().into_iter().map(Extent::Known));
                }
                _ => return None,
            }
        }
        Some(all)
    }

    /// The first of what counts in an order, as many as a count that is no larger says; `false` if the node does something else.
    pub(in crate::import) fn ranked(
        &mut self,
        name: &str,
        op: &Op,
        inputs: &[Option<SymbolId>],
        outputs: &[Option<SymbolId>],
    ) -> Result<bool, String> {
        let (Op::TopK(_), &[Some(data), Some(number)]) = (op, inputs) else { return Ok(false) };
        let (Some(count), Some(ty)) = (self.count_of(data), self.tensor(data)) else { return Ok(false) };
        let (axis, largest) = (integer(op, "axis"), integer(op, "largest") != Some(0));
        let along = axis.map(|axis| axis.rem_euclid(ty.shape.len().max(1) as i64) as usize);
        let fewer = match self.extents(number).map(Vec::as_slice) {
            Some(&[Extent::Counted { count: fewer, .. }]) => self.counts.is_at_most(fewer, count.count),
            _ => false,
        };
        if !fewer || along != Some(count.dimension) {
            return Ok(false);
        }
        let last = if largest { Neutral::Lowest } else { Neutral::Highest };
        let last = self.constant(name, last.scalar(ty.element));
        let live = self.live(name, data, count)?;
        let data = self.choice(name, live, data, last)?;
        self.apply(name, op.clone(), &[Some(data), Some(number)], outputs)?;
        Ok(true)
    }
}

/// An attribute that is an integer.
pub(super) fn integer(op: &Op, name: &str) -> Option<i64> {
    op.attributes().into_iter().find_map(|(own, value)| match value {
        Attribute::Int(value) if own == name => Some(value),
        _ => None,
    })
}
