//! Operators that combine all elements of a dimension, applied to those that count.

use warpweave_graph::arithmetic::{highest, lowest};
use warpweave_graph::ops::{Attribute, Op};
use warpweave_graph::{ElementType, Shape, Tensor, TensorType, ValueId};

use super::super::control::operator;
use super::super::flatten::SymbolId;
use super::super::walk::{Applied, State, Walk};
use super::fewer::integer;
use super::known::Count;

/// What has no influence on a combination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Neutral {
    Zero,
    One,
    Lowest,
    Highest,
}

impl Neutral {
    /// What a reduction or a normalisation along a dimension ignores.
    fn of(op: &Op) -> Option<Self> {
        let name = if op.domain().is_empty() { op.name() } else { "" };
        match name {
            "ReduceSum" | "ReduceMean" | "ReduceL1" | "ReduceL2" | "ReduceSumSquare" | "ReduceLogSum" => {
                Some(Self::Zero)
            }
            "ReduceProd" => Some(Self::One),
            "ReduceMax" | "ReduceLogSumExp" | "Softmax" | "LogSoftmax" => Some(Self::Lowest),
            "ReduceMin" => Some(Self::Highest),
            _ => None,
        }
    }

    /// What a scatter's reduction ignores; `None` if it replaces.
    fn of_scatter(op: &Op) -> Option<Self> {
        let reduction = op.attributes().into_iter().find_map(|(name, value)| match value {
            Attribute::String(text) if name == "reduction" => Some(text),
            _ => None,
        });
        match reduction.as_deref() {
            Some("add") => Some(Self::Zero),
            Some("mul") => Some(Self::One),
            Some("max") => Some(Self::Lowest),
            Some("min") => Some(Self::Highest),
            _ => None,
        }
    }

    pub(super) fn scalar(self, element: ElementType) -> Tensor {
        let ty = TensorType { element, shape: Shape::scalar() };
        let (float, integer) = match self {
            Self::Zero => (0.0, 0),
            Self::One => (1.0, 1),
            Self::Lowest => (f64::NEG_INFINITY, lowest(element)),
            Self::Highest => (f64::INFINITY, highest(element)),
        };
        if element.is_float() { Tensor::from_f64(ty, &[float]) } else { Tensor::from_i64(ty, &[integer]) }
    }
}

impl<'m> Walk<'m> {
    /// Applies an operator that would mix elements that count with others to the former; `false` if it mixes none.
    pub(in crate::import) fn masked(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        match applied.op {
            Op::Gather(_) | Op::GatherNd(_) => self.picked(applied),
            Op::GatherElements(_) => self.named_at(applied, 1),
            Op::RoiAlign(_) => self.named_at(applied, 2),
            Op::ScatterNd(_) => self.scattered(applied),
            Op::MatMul(_) | Op::Gemm(_) => self.contracted(applied),
            Op::Concat(_) => self.joined(applied),
            Op::NonMaxSuppression(_) => self.suppressed(applied),
            Op::NonZero(_) => self.nonzero(applied),
            Op::Compress(_) => self.compressed(applied),
            _ => self.combined(applied),
        }
    }

    /// A reduction, or a normalisation, along a dimension of which only some elements count.
    fn combined(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let (Some(neutral), &[Some(output)]) = (Neutral::of(op), outputs) else { return Ok(false) };
        let Some((data, count)) = inputs[0].and_then(|data| Some((data, self.count_of(data)?))) else {
            return Ok(false);
        };
        if op.follows(&applied.context(), 0, count.dimension).is_some() {
            return Ok(false);
        }
        let Some(ty) = self.tensor(data) else { return Ok(false) };
        let by = self.constant(name, neutral.scalar(ty.element));
        let live = self.live(name, data, count)?;
        let data = self.choice(name, live, data, by)?;
        let mut inputs = inputs.to_vec();
        inputs[0] = Some(data);
        match op {
            Op::ReduceMean(_) if !ty.element.is_float() => return Ok(false),
            Op::ReduceMean(_) => {
                let mean = self.flattening.symbol("", name);
                self.apply(name, op.clone(), &inputs, &[Some(mean)])?;
                let of_all =
                    self.constant(name, Tensor::from_f64(scalar(ty.element), &[ty.shape[count.dimension] as f64]));
                let number = self.symbol_of(name, count.count);
                let like = [Some(number), Some(of_all)];
                let counted = self.result(name, "CastLike", &like)?;
                // The mean of nothing is 0.
                let one = self.constant(name, Neutral::One.scalar(ty.element));
                let counted = self.result(name, "Max", &[Some(counted), Some(one)])?;
                let share = self.result(name, "Div", &[Some(of_all), Some(counted)])?;
                self.apply(name, operator("Mul", &[])?, &[Some(mean), Some(share)], outputs)?;
            }
            _ => self.apply(name, op.clone(), &inputs, outputs)?,
        }
        if let (Op::Softmax(_) | Op::LogSoftmax(_), State::Value(value)) = (op, self.state(output)) {
            self.counts.of.insert(*value, count);
        }
        Ok(true)
    }

    /// The places of what is not zero, of a value of which only some elements count.
    fn nonzero(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let &[Some(data)] = inputs else { return Ok(false) };
        let Some(count) = self.count_of(data) else { return Ok(false) };
        let live = self.live(name, data, count)?;
        let zero = self.zero_like(name, data)?;
        let data = self.choice(name, live, data, zero)?;
        self.apply(name, op.clone(), &[Some(data)], outputs)?;
        Ok(true)
    }

    /// Slices along an axis of which only some count, picked by marks of which only some do.
    fn compressed(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let &[Some(data), Some(marks)] = inputs else { return Ok(false) };
        let (of_data, of_marks) = (self.count_of(data), self.count_of(marks));
        let rank = self.tensor(data).map_or(0, |ty| ty.shape.len()) as i64;
        let axis = integer(op, "axis").map(|axis| if axis < 0 { axis + rank } else { axis });
        let is_along = |count: Count| axis == Some(count.dimension as i64);
        if of_marks.is_none() && of_data.is_none() || of_data.is_some_and(|own| !is_along(own)) {
            return Ok(false);
        }
        let mut marks = marks;
        for number in [of_marks, of_data].into_iter().flatten().map(|count| count.count) {
            let live = self.live(name, marks, Count { dimension: 0, count: number })?;
            let both = self.result(name, "And", &[Some(marks), Some(live)])?;
            self.forget(both);
            marks = both;
        }
        let data = self.all_of(name, data)?;
        self.apply(name, op.clone(), &[Some(data), Some(marks)], outputs)?;
        Ok(true)
    }

    /// A product along a dimension of which only some elements count.
    fn contracted(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let context = applied.context();
        let contracted = |(at, symbol): (usize, &Option<SymbolId>)| {
            let count = symbol.and_then(|symbol| self.count_of(symbol))?;
            op.follows(&context, at, count.dimension).is_none().then_some((at, (*symbol)?, count))
        };
        let found: Vec<_> = inputs.iter().enumerate().filter_map(contracted).collect();
        let Some(&(_, _, first)) = found.first() else { return Ok(false) };
        if found.iter().any(|(_, _, other)| other.count != first.count) {
            return Ok(false);
        }
        let mut inputs = inputs.to_vec();
        for (at, symbol, count) in found {
            let live = self.live(name, symbol, count)?;
            let zero = self.zero_like(name, symbol)?;
            inputs[at] = Some(self.choice(name, live, symbol, zero)?);
        }
        self.apply(name, op.clone(), &inputs, outputs)?;
        Ok(true)
    }

    /// Elements picked by indices of which only some count, or from a dimension of which only some do.
    fn picked(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let &[Some(data), Some(indices)] = inputs else { return Ok(false) };
        let (of_data, of_indices) = (self.count_of(data), self.count_of(indices));
        let follows = |count: Count| op.follows(&applied.context(), 0, count.dimension).is_some();
        let along = of_data.filter(|&count| matches!(op, Op::Gather(_)) && !follows(count));
        let is_place = matches!(self.state(indices), State::Value(value) if self.counts.places.contains(value));
        if along.is_none() && (of_indices.is_none() || is_place) {
            return Ok(false);
        }
        let (mut from, mut picks) = (data, indices);
        if let Some(count) = along {
            let capacity = self.tensor(data).map_or(0, |ty| ty.shape[count.dimension] as i64);
            picks = self.within(name, picks, count.count, capacity)?;
            from = self.all_of(name, data)?;
        }
        if let Some(count) = of_indices {
            picks = self.places_that_count(name, indices, picks, count)?;
        }
        self.apply(name, op.clone(), &[Some(from), Some(picks)], outputs)?;
        Ok(true)
    }

    /// An operator whose input at a position holds indices of which only some count: the others name the first place.
    fn named_at(&mut self, applied: Applied<'_>, at: usize) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let Some(indices) = inputs.get(at).copied().flatten() else { return Ok(false) };
        let is_place = matches!(self.state(indices), State::Value(value) if self.counts.places.contains(value));
        let Some(count) = self.count_of(indices).filter(|_| !is_place) else { return Ok(false) };
        let mut inputs = inputs.to_vec();
        inputs[at] = Some(self.places_that_count(name, indices, indices, count)?);
        self.apply(name, op.clone(), &inputs, outputs)?;
        Ok(true)
    }

    /// Picks as `indices` count, with zeros where they do not.
    pub(super) fn places_that_count(
        &mut self,
        name: &str,
        indices: SymbolId,
        picks: SymbolId,
        count: Count,
    ) -> Result<SymbolId, String> {
        let live = self.live(name, indices, count)?;
        let zero = self.zero_like(name, indices)?;
        let picks = self.choice(name, live, picks, zero)?;
        if let State::Value(value) = *self.state(picks) {
            self.counts.of.insert(value, count);
            self.counts.places.insert(value);
        }
        Ok(picks)
    }

    /// Maps indices of the elements that count to indices of the whole dimension; out-of-range indices stay out of range.
    fn within(&mut self, name: &str, indices: SymbolId, count: ValueId, capacity: i64) -> Result<SymbolId, String> {
        let number = self.symbol_of(name, count);
        let zero = self.zero_like(name, indices)?;
        let number = self.result(name, "CastLike", &[Some(number), Some(zero)])?;
        let outside = self.constant(name, Tensor::scalar(capacity));
        let outside = self.result(name, "CastLike", &[Some(outside), Some(zero)])?;
        let negative = self.result(name, "Less", &[Some(indices), Some(zero)])?;
        let from_end = self.result(name, "Add", &[Some(indices), Some(number)])?;
        let place = self.choice(name, negative, from_end, indices)?;
        let before = self.result(name, "Less", &[Some(place), Some(zero)])?;
        let inside = self.result(name, "Less", &[Some(place), Some(number)])?;
        let place = self.choice(name, before, outside, place)?;
        self.choice(name, inside, place, outside)
    }

    /// Updates of which only some count.
    fn scattered(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let &[Some(data), Some(indices), Some(updates)] = inputs else { return Ok(false) };
        let counts = [self.count_of(indices), self.count_of(updates)];
        let Some(count) = counts[0].or(counts[1]) else { return Ok(false) };
        let tuples = self.tensor(indices).map_or(0, |ty| ty.shape.len());
        if counts.iter().flatten().any(|other| *other != count) || count.dimension + 1 >= tuples {
            return Ok(false);
        }
        let [live_indices, live_updates] = [self.live(name, indices, count)?, self.live(name, updates, count)?];
        let [indices, updates] = [self.all_of(name, indices)?, self.all_of(name, updates)?];
        let zero = self.zero_like(name, indices)?;
        let (index, update) = match (Neutral::of_scatter(op), self.tensor(updates)) {
            (Some(neutral), Some(ty)) => (zero, self.constant(name, neutral.scalar(ty.element))),
            // What does not count repeats the last one that does, or else puts back what is there.
            _ => {
                let none = self.constant(name, Tensor::scalar(0i64));
                let one = self.constant(name, Tensor::scalar(1i64));
                let number = self.symbol_of(name, count.count);
                let some = self.result(name, "Less", &[Some(none), Some(number)])?;
                let last = self.result(name, "Sub", &[Some(number), Some(one)])?;
                let last = self.result(name, "Max", &[Some(last), Some(none)])?;
                let [index, update] = [self.at(name, indices, last, count)?, self.at(name, updates, last, count)?];
                let index = self.choice(name, some, index, zero)?;
                let there = self.result(name, "GatherND", &[Some(data), Some(index)])?;
                (index, self.choice(name, some, update, there)?)
            }
        };
        let indices = self.choice(name, live_indices, indices, index)?;
        let updates = self.choice(name, live_updates, updates, update)?;
        self.apply(name, op.clone(), &[Some(data), Some(indices), Some(updates)], outputs)?;
        Ok(true)
    }

    /// One element along the counted dimension, which stays.
    fn at(&mut self, name: &str, symbol: SymbolId, place: SymbolId, count: Count) -> Result<SymbolId, String> {
        let axis = count.dimension as i64;
        let picked = self.flattening.symbol("", name);
        self.apply(name, operator("Gather", &[("axis", axis)])?, &[Some(symbol), Some(place)], &[Some(picked)])?;
        let axes = self.constant(name, Tensor::vector_i64(&[axis]));
        self.result(name, "Unsqueeze", &[Some(picked), Some(axes)])
    }

    /// Where elements of a symbol count, broadcast against it.
    pub(super) fn live(&mut self, name: &str, symbol: SymbolId, count: Count) -> Result<SymbolId, String> {
        let shape = self.tensor(symbol).map(|ty| ty.shape).unwrap_or_default();
        let behind = shape.len() - count.dimension - 1;
        let extent = shape[count.dimension];
        let places: Vec<i64> = (0..extent as i64).collect();
        let shape: Shape = std::iter::once(extent).chain(std::iter::repeat_n(1, behind)).collect();
        let places = self.constant(name, Tensor::new(shape, &places));
        let number = self.symbol_of(name, count.count);
        self.result(name, "Less", &[Some(places), Some(number)])
    }

    /// A choice of which all elements count.
    pub(super) fn choice(
        &mut self,
        name: &str,
        condition: SymbolId,
        then: SymbolId,
        otherwise: SymbolId,
    ) -> Result<SymbolId, String> {
        let chosen = self.result(name, "Where", &[Some(condition), Some(then), Some(otherwise)])?;
        self.forget(chosen);
        Ok(chosen)
    }

    /// A symbol, all of whose elements count.
    pub(in crate::import) fn all_of(&mut self, name: &str, symbol: SymbolId) -> Result<SymbolId, String> {
        let same = self.result(name, "Identity", &[Some(symbol)])?;
        self.forget(same);
        Ok(same)
    }

    fn forget(&mut self, symbol: SymbolId) {
        if let State::Value(value) = *self.state(symbol) {
            self.counts.of.remove(&value);
        }
    }

    pub(in crate::import) fn zero_like(&mut self, name: &str, symbol: SymbolId) -> Result<SymbolId, String> {
        let element = self.tensor(symbol).map_or(ElementType::I64, |ty| ty.element);
        Ok(self.constant(name, Neutral::Zero.scalar(element)))
    }

    pub(in crate::import) fn tensor(&self, symbol: SymbolId) -> Option<TensorType> {
        self.fact(symbol)?.ty.as_tensor().cloned()
    }

    /// A symbol of a value of the graph.
    pub(in crate::import) fn symbol_of(&mut self, name: &str, value: ValueId) -> SymbolId {
        let symbol = self.flattening.symbol("", name);
        self.define(symbol, State::Value(value));
        symbol
    }

    /// What an operator without attributes gives.
    pub(in crate::import) fn result(
        &mut self,
        name: &str,
        operation: &str,
        inputs: &[Option<SymbolId>],
    ) -> Result<SymbolId, String> {
        let symbol = self.flattening.symbol("", name);
        self.apply(name, operator(operation, &[])?, inputs, &[Some(symbol)])?;
        Ok(symbol)
    }
}

fn scalar(element: ElementType) -> TensorType {
    TensorType { element, shape: Shape::scalar() }
}
