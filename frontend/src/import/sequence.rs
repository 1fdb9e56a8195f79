//! Sequences: lists of symbols, as long as the import knows them to be.

use warpweave_graph::Tensor;
use warpweave_graph::ops::AttributeReader;

use super::control::{Order, operator, stack};
use super::flatten::{FlatNode, SymbolId};
use super::walk::{Refusal, State, Walk};

/// Most elements of all sequences of a model together: one to which elements are added is a sequence each time.
const MOST_ELEMENTS: usize = 1 << 22;

/// The operators that take or give sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SequenceOperator {
    At,
    Concat,
    Construct,
    Empty,
    Erase,
    Insert,
    Length,
    Split,
}

impl SequenceOperator {
    /// The operator that a node applies, if it is one.
    pub(super) fn of(node: &FlatNode) -> Option<Self> {
        match node.operator.as_str() {
            _ if !node.domain.is_empty() => None,
            "SequenceAt" => Some(Self::At),
            "ConcatFromSequence" => Some(Self::Concat),
            "SequenceConstruct" => Some(Self::Construct),
            "SequenceEmpty" => Some(Self::Empty),
            "SequenceErase" => Some(Self::Erase),
            "SequenceInsert" => Some(Self::Insert),
            "SequenceLength" => Some(Self::Length),
            "SplitToSequence" => Some(Self::Split),
            _ => None,
        }
    }

    /// Takes the node. Where nothing is known of an input, nothing is known of its output.
    pub(super) fn take(
        self,
        walk: &mut Walk,
        node: &FlatNode,
        attributes: &mut AttributeReader,
    ) -> Result<(), Refusal> {
        let &[Some(output)] = &node.outputs[..] else { return Err("one output is needed".to_owned().into()) };
        let input = |at: usize| {
            let symbol = node.inputs.get(at).copied().flatten();
            symbol.ok_or_else(|| Refusal::from(format!("input {at} is missing")))
        };
        let mut integer = |name: &'static str| {
            let value = attributes.int(name).map_err(|error| Refusal::from(error.to_string()))?;
            Ok::<_, Refusal>(value)
        };
        let is_unknown = |symbol: &SymbolId| matches!(walk.state(*symbol), State::Unknown);
        if node.inputs.iter().flatten().any(is_unknown) {
            return Ok(());
        }
        match self {
            Self::Empty => walk.keep(output, Vec::new())?,
            Self::Construct => {
                let parts = node.inputs.iter().flatten().copied().collect();
                walk.keep(output, parts)?;
            }
            Self::Length => {
                let length = walk.sequence(input(0)?)?.len();
                walk.define(output, State::Constant(Tensor::scalar(length as i64)));
            }
            Self::At => {
                let parts = walk.sequence(input(0)?)?;
                let place = place(walk, input(1)?, parts.len())?;
                walk.apply(&node.name, operator("Identity", &[])?, &[Some(parts[place])], &[Some(output)])?;
            }
            Self::Erase | Self::Insert => {
                let mut parts = walk.sequence(input(0)?)?;
                let given = usize::from(self == Self::Insert);
                let at = node.inputs.get(given + 1).copied().flatten();
                // An element may be inserted behind the last.
                let places = parts.len() + given;
                let place = match at {
                    Some(at) if self == Self::Insert => insertion(walk, at, parts.len())?,
                    Some(at) => place(walk, at, places)?,
                    None => places.checked_sub(1).ok_or_else(|| "the sequence is empty".to_owned())?,
                };
                match self {
                    Self::Insert => parts.insert(place, input(1)?),
                    _ => drop(parts.remove(place)),
                }
                walk.keep(output, parts)?;
            }
            Self::Split => {
                let (axis, keep) = (integer("axis")?.unwrap_or(0), integer("keepdims")?.unwrap_or(1) != 0);
                let parts = split(walk, node, input(0)?, axis, keep)?;
                walk.keep(output, parts)?;
            }
            Self::Concat => {
                let axis = integer("axis")?.ok_or_else(|| "attribute axis is missing".to_owned())?;
                let parts = walk.sequence(input(0)?)?;
                if integer("new_axis")?.unwrap_or(0) != 0 {
                    stack(walk, &node.name, &parts, Order { axis, reversed: false }, output)?;
                } else {
                    let parts: Vec<_> = parts.into_iter().map(Some).collect();
                    walk.apply(&node.name, operator("Concat", &[("axis", axis)])?, &parts, &[Some(output)])?;
                }
            }
        }
        Ok(())
    }
}

impl Walk<'_> {
    /// Makes a symbol a sequence of these.
    fn keep(&mut self, symbol: SymbolId, parts: Vec<SymbolId>) -> Result<(), String> {
        self.sequence_elements += parts.len();
        if self.sequence_elements > MOST_ELEMENTS {
            return Err(format!("the model's sequences have more than {MOST_ELEMENTS} elements together"));
        }
        self.define(symbol, State::Sequence(parts));
        Ok(())
    }

    /// The elements of a sequence.
    fn sequence(&self, symbol: SymbolId) -> Result<Vec<SymbolId>, String> {
        match self.state(symbol) {
            State::Sequence(parts) => Ok(parts.clone()),
            State::Unknown | State::Constant(_) | State::Variable(_) | State::Value(_) | State::Gated(_) => {
                Err(format!("`{}` is no sequence that is known at import", self.flattening.symbols[symbol]))
            }
        }
    }
}

/// A known integer.
fn integer(walk: &Walk, symbol: SymbolId) -> Result<i64, String> {
    let value = walk.fact(symbol).and_then(|fact| fact.value);
    let number = value.and_then(|value| value.to_i64().first().copied());
    number.ok_or_else(|| format!("`{}` is not known at import", walk.flattening.symbols[symbol]))
}

/// The place of an element among so many; a negative one counts from the end.
fn place(walk: &Walk, symbol: SymbolId, length: usize) -> Result<usize, String> {
    let number = integer(walk, symbol)?;
    let place = usize::try_from(if number < 0 { number.saturating_add(length as i64) } else { number });
    place.ok().filter(|&place| place < length).ok_or_else(|| format!("a sequence of {length} has no element {number}"))
}

/// The place before which an element is inserted.
fn insertion(walk: &Walk, symbol: SymbolId, length: usize) -> Result<usize, String> {
    if integer(walk, symbol)? == length as i64 { Ok(length) } else { place(walk, symbol, length) }
}

/// The parts of a tensor along an axis: of the lengths that the second input says, or else of 1.
fn split(walk: &mut Walk, node: &FlatNode, data: SymbolId, axis: i64, keep: bool) -> Result<Vec<SymbolId>, String> {
    let name = &node.name;
    let ty = walk.fact(data).and_then(|fact| fact.ty.as_tensor().cloned());
    let ty = ty.ok_or_else(|| "no tensor is given".to_owned())?;
    let dimension = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    let extent = usize::try_from(dimension).ok().and_then(|dimension| ty.shape.get(dimension).copied());
    let extent = extent.ok_or_else(|| format!("{ty} has no dimension {axis}"))? as i64;
    // Exporters name parts of 1 by a scalar and yet want them without the dimension.
    let mut squeezes = !keep;
    let lengths = match node.inputs.get(1).copied().flatten() {
        None => vec![1; extent as usize],
        Some(symbol) => {
            let value = walk.fact(symbol).and_then(|fact| fact.value);
            let value = value.ok_or_else(|| format!("`{}` is not known at import", walk.flattening.symbols[symbol]))?;
            match (value.shape().is_empty(), &value.to_i64()[..]) {
                (true, &[each]) if each > 0 => {
                    squeezes &= each == 1;
                    (0..extent).step_by(each as usize).map(|start| each.min(extent - start)).collect()
                }
                (true, _) => return Err("parts have no elements".to_owned()),
                (false, lengths) => {
                    squeezes = false;
                    lengths.to_vec()
                }
            }
        }
    };
    if lengths.len() as u64 > walk.limits.trips {
        return Err(format!("{} parts are more than the limit of {}", lengths.len(), walk.limits.trips));
    }
    let parts: Vec<SymbolId> = lengths.iter().map(|_| walk.flattening.symbol("", name)).collect();
    let outputs: Vec<_> = parts.iter().copied().map(Some).collect();
    if parts.len() == 1 {
        walk.apply(name, operator("Identity", &[])?, &[Some(data)], &outputs)?;
    } else {
        let lengths = walk.constant(name, Tensor::vector_i64(&lengths));
        walk.apply(name, operator("Split", &[("axis", axis)])?, &[Some(data), Some(lengths)], &outputs)?;
    }
    if !squeezes {
        return Ok(parts);
    }
    let axes = walk.constant(name, Tensor::vector_i64(&[axis]));
    let squeezed = |part: SymbolId| {
        let squeezed = walk.flattening.symbol("", name);
        walk.apply(name, operator("Squeeze", &[])?, &[Some(part), Some(axes)], &[Some(squeezed)])?;
        Ok(squeezed)
    };
    parts.into_iter().map(squeezed).collect()
}
