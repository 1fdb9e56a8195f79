//! Extents that are counts: how vectors of them are made and moved, and what is made of as many elements.

use warpweave_graph::ops::{Context, Fact, Op};
use warpweave_graph::passes::constant_folding::evaluate_node;
use warpweave_graph::{ElementType, Tensor, ValueType};

use super::super::control::operator;
use super::super::flatten::SymbolId;
use super::super::walk::{Applied, State, Walk};
use super::known::{Count, Extent, Replaced};

/// The operators that only move elements.
const MOVING: [&str; 8] = ["Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"];
/// The operators of whose outputs the first elements are the same however many are asked for.
const GROWING: [&str; 6] = ["ConstantOfShape", "Expand", "Range", "Reshape", "Slice", "TopK"];
/// Codes of counts, which no extent is, begin here.
const CODES: i64 = i64::MIN;

impl<'m> Walk<'m> {
    pub(super) fn extents(&self, symbol: SymbolId) -> Option<&Vec<Extent>> {
        match self.state(symbol) {
            State::Value(value) => self.counts.extents.get(value),
            State::Unknown | State::Constant(_) | State::Variable(_) | State::Gated(_) | State::Sequence(_) => None,
        }
    }

    /// Replaces an input that must be constant by the most that its extents may be; `None` if it has none.
    pub(in crate::import) fn replace_extents(
        &mut self,
        op: &Op,
        inputs: &mut [Option<SymbolId>],
        input: usize,
    ) -> Option<Replaced> {
        let symbol = inputs.get(input).copied().flatten()?;
        let extents = self.extents(symbol).filter(|_| is_one_of(op, &GROWING))?.clone();
        let shape = self.fact(symbol)?.ty.as_tensor()?.shape.clone();
        let name = self.flattening.symbols[symbol].clone();
        inputs[input] = Some(self.constant(&name, vector(&extents, Extent::most).reshape(shape)?));
        Some(Replaced { input, extents })
    }

    /// The dimension of the outputs that has as many elements as replaced inputs say; an error if there is none.
    pub(in crate::import) fn grown(
        &self,
        Applied { op, facts, .. }: Applied<'_>,
        types: &[ValueType],
        replaced: &[Replaced],
        followed: Option<Count>,
    ) -> Result<Option<Count>, String> {
        if replaced.is_empty() {
            return Ok(followed);
        }
        let refused = || "its extents are as the data say, which is not supported here".to_owned();
        let mut counts = replaced.iter().flat_map(|replaced| &replaced.extents).filter_map(|extent| match *extent {
            Extent::Counted { count, capacity } => Some((count, capacity)),
            Extent::Known(_) => None,
        });
        let (count, capacity) = counts.next().ok_or_else(refused)?;
        // An extent of 0 names another one to `Reshape`.
        let least = if matches!(op, Op::Reshape(_)) { 2 } else { 1 };
        if capacity < least || counts.any(|other| other != (count, capacity)) {
            return Err(refused());
        }
        let mut less = facts.to_vec();
        for Replaced { input, extents } in replaced {
            let Some(fact) = &mut less[*input] else { return Err(refused()) };
            let shape = fact.value.as_ref().map(|value| value.shape().clone()).ok_or_else(refused)?;
            fact.value = vector(extents, Extent::less).reshape(shape);
        }
        let least = op.infer(&Context::new(&less, types.len())).ok();
        let grown = least.and_then(|least| dimension(types, &least, capacity));
        let grown = grown.map(|dimension| Count { dimension, count });
        let has_capacity = |count: &Count| types.iter().all(|ty| extent(ty, count.dimension) == Some(capacity));
        match (grown, followed) {
            (Some(grown), None) => Ok(Some(grown)),
            (grown, Some(followed)) if grown.is_none_or(|grown| grown == followed) && followed.count == count => {
                Some(followed).filter(has_capacity).map(Some).ok_or_else(refused)
            }
            _ => Err(refused()),
        }
    }

    /// Takes the extents of a value of which only some elements count; `false` if the node does something else.
    pub(in crate::import) fn take_extents(&mut self, applied: Applied<'_>) -> Result<bool, String> {
        let Applied { name, op, inputs, outputs, .. } = applied;
        if let (Op::Size(_), &[Some(input)], &[Some(output)]) = (op, inputs, outputs) {
            return self.take_size(name, input, output);
        }
        let (Op::Shape(_), &[Some(input)], &[Some(output)]) = (op, inputs, outputs) else { return Ok(false) };
        let (Some(Count { dimension, count }), Some(fact)) = (self.count_of(input), self.fact(input)) else {
            return Ok(false);
        };
        let Some(ty) = fact.ty.as_tensor() else { return Ok(false) };
        let mut longer = ty.clone();
        longer.shape = longer.shape.iter().enumerate().map(|(at, &e)| e + usize::from(at == dimension)).collect();
        let (Some(most), Some(more)) = (extents_of(op, &fact.ty), extents_of(op, &longer.into())) else {
            return Ok(false);
        };
        let (most, more) = (most.to_i64(), more.to_i64());
        let is_count: Vec<bool> = most.iter().zip(&more).map(|(most, more)| most != more).collect();
        if !is_count.contains(&true) {
            self.define(output, State::Constant(Tensor::vector_i64(&most)));
            return Ok(true);
        }
        let marks = self.constant(name, Tensor::from_bools([most.len()], &is_count));
        let capacities = self.constant(name, Tensor::vector_i64(&most));
        let number = self.symbol_of(name, count);
        self.apply(name, operator("Where", &[])?, &[Some(marks), Some(number), Some(capacities)], outputs)?;
        if let State::Value(value) = *self.state(output) {
            let extent = |(&capacity, &is_count): (&i64, &bool)| match is_count {
                true => Extent::Counted { count, capacity },
                false => Extent::Known(capacity),
            };
            self.counts.extents.insert(value, most.iter().zip(&is_count).map(extent).collect());
        }
        Ok(true)
    }

    /// Takes the number of elements of a value of which only some count; `false` if all do.
    fn take_size(&mut self, name: &str, input: SymbolId, output: SymbolId) -> Result<bool, String> {
        let Some((Count { dimension, count }, ty)) = self.count_of(input).zip(self.tensor(input)) else {
            return Ok(false);
        };
        let number = self.symbol_of(name, count);
        let others = ty.shape.iter().enumerate().filter(|(at, _)| *at != dimension);
        let others = self.constant(name, Tensor::scalar(others.map(|(_, &extent)| extent as i64).product::<i64>()));
        self.apply(name, operator("Mul", &[])?, &[Some(number), Some(others)], &[Some(output)])?;
        if let (State::Value(value), [_]) = (self.state(output), &ty.shape[..]) {
            let extent = Extent::Counted { count, capacity: ty.shape[dimension] as i64 };
            self.counts.extents.insert(*value, vec![extent]);
        }
        Ok(true)
    }

    /// The extents that an operator moves, if it does nothing else and they are all that it gives.
    pub(in crate::import) fn moved_extents(
        &self,
        applied: Applied<'_>,
        types: &[ValueType],
    ) -> Option<(Tensor, Vec<Extent>)> {
        let Applied { op, inputs, facts, .. } = applied;
        let [ty] = types else { return None };
        if !is_one_of(op, &MOVING) || ty.as_tensor()?.element != ElementType::I64 {
            return None;
        }
        let mut counts = Vec::new();
        let mut coded = facts.to_vec();
        for (fact, symbol) in coded.iter_mut().zip(inputs) {
            let (Some(fact), Some(extents)) = (fact, symbol.and_then(|symbol| self.extents(symbol))) else { continue };
            let code = |extent| match extent {
                Extent::Known(extent) => extent,
                Extent::Counted { .. } => {
                    counts.push(extent);
                    CODES + counts.len() as i64 - 1
                }
            };
            let codes: Vec<i64> = extents.iter().copied().map(code).collect();
            fact.value = Tensor::vector_i64(&codes).reshape(fact.ty.as_tensor()?.shape.clone());
        }
        if counts.is_empty() {
            return None;
        }
        let moved = evaluate_node(op, &coded, types)?.into_iter().next()?;
        let decoded = |code: i64| match usize::try_from(code.wrapping_sub(CODES)) {
            Ok(at) if at < counts.len() => counts[at],
            _ => Extent::Known(code),
        };
        let extents = moved.to_i64().into_iter().map(decoded).collect();
        Some((moved, extents))
    }
}

/// The vector of what is made of each extent.
fn vector(extents: &[Extent], of: impl Fn(Extent) -> i64) -> Tensor {
    Tensor::vector_i64(&extents.iter().copied().map(of).collect::<Vec<i64>>())
}

fn is_one_of(op: &Op, names: &[&str]) -> bool {
    op.domain().is_empty() && names.contains(&op.name())
}

fn extents_of(op: &Op, ty: &ValueType) -> Option<Tensor> {
    let facts = [Some(Fact { ty: ty.clone(), value: None })];
    let types = op.infer(&Context::new(&facts, 1)).ok()?;
    evaluate_node(op, &facts, &types)?.into_iter().next()
}

fn extent(ty: &ValueType, dimension: usize) -> Option<i64> {
    ty.as_tensor()?.shape.get(dimension).map(|&extent| extent as i64)
}

/// The one dimension in which types have the capacity and others one element less.
fn dimension(types: &[ValueType], least: &[ValueType], capacity: i64) -> Option<usize> {
    let mut found = None;
    for (most, least) in types.iter().zip(least) {
        let (most, least) = (&most.as_tensor()?.shape, &least.as_tensor()?.shape);
        if most.len() != least.len() {
            return None;
        }
        let mut differing = (0..most.len()).filter(|&at| most[at] != least[at]);
        let at = differing.next()?;
        let fits = most[at] as i64 == capacity && least[at] as i64 == capacity - 1;
        if !fits || differing.next().is_some() || found.is_some_and(|found| found != at) {
            return None;
        }
        found = Some(at);
    }
    found
}
