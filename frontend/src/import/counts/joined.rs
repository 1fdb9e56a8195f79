//! Values of which only some elements count, laid end to end or taken apart, and boxes of which only some count.

use warpweave_graph::ops::Op;
use warpweave_graph::{Tensor, ValueId};

use super::super::control::operator;
use super::super::flatten::SymbolId;
use super::super::walk::{Applied, State, Walk};
use super::known::{Count, Part};
use super::masks::Neutral;

impl<'m> Walk<'m> {
    /// Parts laid end to end along a dimension of which only some elements count: those that do are picked of all.
    pub(super) fn joined(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let context = applied.context();
        let counts: Vec<Option<Count>> =
            inputs.iter().map(|input| input.and_then(|part| self.count_of(part))).collect();
        let is_along = |(at, count): (usize, Count)| op.follows(&context, at, count.dimension).is_none();
        let counted = counts.iter().enumerate().filter_map(|(at, count)| Some((at, (*count)?)));
        let Some((_, Count { dimension, .. })) = counted.clone().find(|&found| is_along(found)) else {
            return Ok(false);
        };
        if !counted.clone().all(is_along) {
            return Ok(false);
        }
        let extent = |at: usize| context.tensor(at).map_or(0, |ty| ty.shape[dimension]);
        let part =
            |(at, count): (usize, &Option<Count>)| Part { count: count.map(|count| count.count), extent: extent(at) };
        let parts: Vec<Part> = counts.iter().enumerate().map(part).collect();
        let places = self.places_of(name, parts)?;
        let all = inputs.iter().flatten().map(|&input| Ok(Some(self.all_of(name, input)?)));
        let all = all.collect::<Result<Vec<_>, String>>()?;
        let whole = self.flattening.symbol("", name);
        self.apply(name, op.clone(), &all, &[Some(whole)])?;
        let gather = operator("Gather", &[("axis", dimension as i64)])?;
        self.apply(name, gather, &[Some(whole), Some(places)], outputs)?;
        Ok(true)
    }

    /// Where the elements that count are in parts laid end to end. Equal parts have the same places, and as many.
    fn places_of(&mut self, name: &str, parts: Vec<Part>) -> Result<SymbolId, String> {
        if let Some(&places) = self.counts.joined.get(&parts) {
            return Ok(self.symbol_of(name, places));
        }
        let lives = parts.iter().map(|part| {
            let live = match part.count {
                Some(count) => self.first_of(name, part.extent, count)?,
                None => self.constant(name, Tensor::from_bools([part.extent], &vec![true; part.extent])),
            };
            Ok(Some(live))
        });
        let lives = lives.collect::<Result<Vec<_>, String>>()?;
        let live = self.flattening.symbol("", name);
        self.apply(name, operator("Concat", &[("axis", 0)])?, &lives, &[Some(live)])?;
        let extent = parts.iter().map(|part| part.extent).sum();
        let all = self.numbers(name, extent);
        let found = self.flattening.symbol("", name);
        self.compress(name, all, live, Some(found))?;
        let Some(count) = self.count_of(found) else { return Ok(found) };
        let places = self.places_that_count(name, found, found, count)?;
        if let State::Value(value) = *self.state(places) {
            self.counts.joined.insert(parts, value);
        }
        Ok(places)
    }

    /// Boxes of which only some count: what does not is chosen last, and left out of what is chosen.
    pub(super) fn suppressed(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let &[Some(boxes), Some(scores), ref options @ ..] = inputs else { return Ok(false) };
        let counts = [(self.count_of(boxes), 1), (self.count_of(scores), 2)];
        if counts.iter().any(|(count, along)| count.is_some_and(|count| count.dimension != *along)) {
            return Ok(false);
        }
        let (of_boxes, of_scores) = (counts[0].0.map(|count| count.count), counts[1].0.map(|count| count.count));
        let (Some(number), None) = (of_boxes.or(of_scores), of_boxes.zip(of_scores).filter(|(a, b)| a != b)) else {
            return Ok(false);
        };
        let Some(ty) = self.tensor(scores) else { return Ok(false) };
        let lowest = self.constant(name, Neutral::Lowest.scalar(ty.element));
        let live = self.live(name, scores, Count { dimension: 2, count: number })?;
        let scores = self.choice(name, live, scores, lowest)?;
        let boxes = self.all_of(name, boxes)?;
        let chosen = self.flattening.symbol("", name);
        let given: Vec<_> = [Some(boxes), Some(scores)].into_iter().chain(options.iter().copied()).collect();
        self.apply(name, op.clone(), &given, &[Some(chosen)])?;
        let (Some(count), Some(ty)) = (self.count_of(chosen), self.tensor(chosen)) else { return Ok(false) };
        let triples = self.all_of(name, chosen)?;
        let last = self.constant(name, Tensor::scalar(2i64));
        let place = self.flattening.symbol("", name);
        self.apply(name, operator("Gather", &[("axis", 1)])?, &[Some(triples), Some(last)], &[Some(place)])?;
        let number = self.symbol_of(name, number);
        let counts = self.result(name, "Less", &[Some(place), Some(number)])?;
        let is_chosen = self.first_of(name, ty.shape[0], count.count)?;
        let remains = self.result(name, "And", &[Some(counts), Some(is_chosen)])?;
        self.compress(name, triples, remains, outputs[0])?;
        Ok(true)
    }

    /// The elements along the first dimension where a vector holds.
    fn compress(
        &mut self,
        name: &str,
        data: SymbolId,
        condition: SymbolId,
        output: Option<SymbolId>,
    ) -> Result<(), String> {
        Ok(self.apply(name, operator("Compress", &[("axis", 0)])?, &[Some(data), Some(condition)], &[output])?)
    }

    /// The numbers from 0.
    fn numbers(&mut self, name: &str, extent: usize) -> SymbolId {
        self.constant(name, Tensor::vector_i64(&(0..extent as i64).collect::<Vec<_>>()))
    }

    /// Which of so many elements count.
    fn first_of(&mut self, name: &str, extent: usize, count: ValueId) -> Result<SymbolId, String> {
        let (all, number) = (self.numbers(name, extent), self.symbol_of(name, count));
        self.result(name, "Less", &[Some(all), Some(number)])
    }

    /// The first elements of what counts: as many of the output count as remain.
    pub(in crate::import) fn sliced(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        let (Op::Slice(slice), Some(&Some(data)), &[Some(output)]) = (op, inputs.first(), outputs) else {
            return Ok(false);
        };
        let (Some(count), Some(ty)) = (self.count_of(data), self.tensor(data)) else { return Ok(false) };
        let Some(bounds) = slice.bounds(&applied.context(), count.dimension) else { return Ok(false) };
        let capacity = ty.shape[count.dimension] as i64;
        if bounds.start < 0 || bounds.step < 1 || bounds.is_all(capacity) {
            return Ok(false);
        }
        let number = self.shortened(name, count.count, bounds, capacity)?;
        let data = self.all_of(name, data)?;
        let mut inputs = inputs.to_vec();
        inputs[0] = Some(data);
        self.apply(name, op.clone(), &inputs, outputs)?;
        if let State::Value(value) = *self.state(output) {
            self.counts.of.insert(value, Count { count: number, ..count });
        }
        Ok(true)
    }
}
