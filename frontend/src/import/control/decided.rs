//! What is known of a condition of the graph without its inputs: ranges of extents decide some, and inputs the others.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::ir::{Node, Origin, Value};
use warpweave_graph::ops::Op;
use warpweave_graph::{ElementType, ValueId};

use super::super::counts::Extent;
use super::super::walk::Walk;

/// Values that a condition is followed through, at most: those behind them are open.
const MOST_VALUES: usize = 256;

/// Elements of an input that a message proposes to fix, at most.
const LONGEST_FIXED: usize = 16;

/// The least and the greatest that a number may be.
type Range = (i128, i128);

impl Walk<'_> {
    /// The truth value of a scalar of the graph, if it is the same whatever the caller gives.
    pub(super) fn decided(&self, value: ValueId) -> Option<bool> {
        match (Ranges { walk: self, known: BTreeMap::new() }).of(value)? {
            (0, 0) => Some(false),
            (least, _) if least > 0 => Some(true),
            _ => None,
        }
    }

    /// The name of an input that is short enough to be fixed in a command.
    pub(super) fn short_input(&self, input: ValueId) -> Option<&str> {
        let Value { name, ty, .. } = &self.graph.values[input];
        let elements = ty.as_tensor()?.shape.checked_elements()?;
        (elements <= LONGEST_FIXED).then_some(name)
    }

    /// What a value is compared with for equality, if it holds where that is so, or where it is not.
    pub(super) fn compared_with(&self, value: ValueId) -> Option<(i64, bool)> {
        let Origin::Node(id, _) = self.graph.values[value].origin else { return None };
        let Node { op, inputs, .. } = &self.graph.nodes[id];
        let input = |at: usize| inputs.get(at).copied().flatten();
        match op {
            Op::Identity(_) | Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => self.compared_with(input(0)?),
            Op::Not(_) => self.compared_with(input(0)?).map(|(constant, holds)| (constant, !holds)),
            Op::Equal(_) => {
                let constants = [input(0)?, input(1)?].map(|side| self.graph.constant_value(side));
                let constant = constants.into_iter().flatten().find(|constant| constant.element().is_integer())?;
                constant.to_i64().first().map(|&constant| (constant, true))
            }
            _ => None,
        }
    }

    /// The inputs that decide a value.
    pub(super) fn decisive_inputs(&self, value: ValueId) -> Vec<ValueId> {
        let mut seen = BTreeSet::new();
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            if seen.insert(value)
                && let Origin::Node(id, _) = self.graph.values[value].origin
            {
                left.extend(self.graph.nodes[id].inputs.iter().flatten());
            }
        }
        self.graph.inputs.iter().copied().filter(|input| seen.contains(input)).collect()
    }
}

/// The ranges of scalars of integers and truth values, each found once.
struct Ranges<'w, 'm> {
    walk: &'w Walk<'m>,
    known: BTreeMap<ValueId, Option<Range>>,
}

impl Ranges<'_, '_> {
    fn of(&mut self, value: ValueId) -> Option<Range> {
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        let range = if self.known.len() < MOST_VALUES { self.found(value) } else { None };
        self.known.insert(value, range);
        range
    }

    fn found(&mut self, value: ValueId) -> Option<Range> {
        let Walk { graph, counts, .. } = self.walk;
        let ty = graph.values[value].ty.as_tensor()?;
        let is_known = ty.element == ElementType::Bool || ty.element == ElementType::I64;
        if !is_known || ty.shape.checked_elements() != Some(1) {
            return None;
        }
        if let Some(constant) = graph.constant_value(value) {
            let number = i128::from(*constant.to_i64().first()?);
            return Some((number, number));
        }
        match counts.extents.get(&value).map(Vec::as_slice) {
            Some(&[Extent::Known(extent)]) => return Some((extent.into(), extent.into())),
            Some(&[Extent::Counted { capacity, .. }]) => return Some((0, capacity.into())),
            _ => {}
        }
        self.known.insert(value, None);
        match graph.values[value].origin {
            Origin::Node(id, 0) => self.of_node(&graph.nodes[id]),
            _ => None,
        }
    }

    fn of_node(&mut self, node: &Node) -> Option<Range> {
        let mut input = |at: usize| node.inputs.get(at).copied().flatten().and_then(|input| self.of(input));
        let ranges = [input(0), input(1)];
        let pair = ranges[0].zip(ranges[1]);
        let truth = |holds: Option<bool>| holds.map(|holds| (i128::from(holds), i128::from(holds)));
        let is = |truth: i128| ranges.contains(&Some((truth, truth)));
        match &node.op {
            Op::Identity(_) | Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => ranges[0],
            Op::Not(_) => ranges[0].map(|(least, most)| (1 - most, 1 - least)),
            Op::And(_) if is(0) => Some((0, 0)),
            Op::Or(_) if is(1) => Some((1, 1)),
            Op::And(_) | Op::Or(_) => pair.filter(|(first, second)| first == second).map(|(first, _)| first),
            Op::Equal(_) => truth(equal(pair?)),
            Op::Less(_) => truth(less(pair?)),
            Op::Greater(_) => truth(less(swapped(pair?))),
            Op::LessOrEqual(_) => truth(less(swapped(pair?)).map(|holds| !holds)),
            Op::GreaterOrEqual(_) => truth(less(pair?).map(|holds| !holds)),
            _ => None,
        }
    }
}

fn swapped((first, second): (Range, Range)) -> (Range, Range) {
    (second, first)
}

fn equal(((least, most), (low, high)): (Range, Range)) -> Option<bool> {
    match most < low || high < least {
        true => Some(false),
        false => (least == most && low == high).then_some(true),
    }
}

fn less(((least, most), (low, high)): (Range, Range)) -> Option<bool> {
    match (most < low, least >= high) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        (false, false) => None,
    }
}
