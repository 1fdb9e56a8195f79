//! Values of which only some elements count: where they go, and what operators make of what lies behind them.

mod extents;
mod fewer;
mod joined;
mod known;
mod masks;

use std::collections::BTreeMap;

use warpweave_graph::counted::CountedOutput;
use warpweave_graph::{TensorType, ValueId, ValueType};

use super::flatten::SymbolId;
use super::walk::{Applied, State, Walk};
pub(super) use known::{Count, Counts, Extent, Part, Replaced};

impl<'m> Walk<'m> {
    /// The dimension of a symbol of which only some elements count.
    pub(super) fn count_of(&self, symbol: SymbolId) -> Option<Count> {
        match self.state(symbol) {
            State::Value(value) => self.counts.of.get(value).copied(),
            State::Unknown | State::Constant(_) | State::Variable(_) | State::Gated(_) | State::Sequence(_) => None,
        }
    }

    /// The dimension of the outputs of which only some elements count, and how many do; an error where the operator may mix them
    /// with others.
    pub(super) fn followed(&self, applied: Applied<'_>, types: &[ValueType]) -> Result<Option<Count>, String> {
        let context = applied.context();
        let mut followed = None;
        for (input, symbol) in applied.inputs.iter().enumerate() {
            let Some((symbol, known)) = symbol.and_then(|symbol| Some((symbol, self.count_of(symbol)?))) else {
                continue;
            };
            let refused = || self.count_refusal(symbol);
            let dimension = applied.op.follows(&context, input, known.dimension).ok_or_else(refused)?;
            // One element that is broadcast is none or all of many.
            let extent = |ty: &TensorType, dimension: usize| ty.shape.get(dimension).copied();
            let own = context.tensor(input).ok().and_then(|ty| extent(ty, known.dimension));
            let mut outputs = types.iter().take(context.outputs()).filter_map(ValueType::as_tensor);
            if outputs.any(|ty| extent(ty, dimension) != own) {
                return Err(refused());
            }
            let found = Count { dimension, count: known.count };
            if followed.is_some_and(|known| known != found) {
                return Err(refused());
            }
            followed = Some(found);
        }
        Ok(followed)
    }

    fn count_refusal(&self, symbol: SymbolId) -> String {
        let name = &self.flattening.symbols[symbol];
        let dimension = self.count_of(symbol).map_or(0, |count| count.dimension);
        format!(
            "`{name}` has as many elements along dimension {dimension} as its data say, which is not supported here"
        )
    }

    /// Adds how many elements count to the graph's outputs.
    pub(super) fn count_outputs(&mut self) {
        let graph = &mut self.graph;
        let mut known: BTreeMap<ValueId, usize> = BTreeMap::new();
        for output in 0..graph.outputs.len() {
            let Some(&Count { dimension, count }) = self.counts.of.get(&graph.outputs[output].value) else { continue };
            let count = *known.entry(count).or_insert_with(|| {
                graph.output(count);
                graph.outputs.len() - 1
            });
            graph.counted.push(CountedOutput { output, dimension, count });
        }
    }
}
