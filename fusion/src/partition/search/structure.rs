//! Structural keys: sets of statements with equal keys have the same body up to names and which slices they read, and the same
//! cost.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{Index, TensorExpr};
use warpweave_graph::procedure::Procedure;
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::partition::build::Uses;

/// What decides the body of a set of statements and its cost: each member's definition, which operands come from which
/// member or from which tensor outside, which results leave, and how tensors lie in memory.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct StructuralKey(Vec<u32>);

/// Numbers equal definitions and equal layouts of a program alike.
#[derive(Debug)]
pub(crate) struct Structures {
    definitions: Arena<StatementId, u32>,
    /// The same of definitions that read first slices in place of others.
    at_first_slices: Arena<StatementId, u32>,
    layouts: Arena<TensorId, u32>,
}

/// Tags an operand from outside in a key; operands from inside are smaller.
const OUTSIDE: u32 = 1 << 31;

impl Structures {
    pub(crate) fn new(program: &TensorProgram, layouts: &Arena<TensorId, Layout>) -> Self {
        let mut known = FxHashMap::default();
        let mut number = |procedure: Option<Procedure>, expr: Cow<'_, TensorExpr>| {
            let next = known.len() as u32;
            *known.entry((procedure, expr.into_owned())).or_insert(next)
        };
        let (mut definitions, mut sliced) = (Arena::new(), Arena::new());
        for statement in program.statements.values() {
            let numbers = match &statement.definition {
                Definition::Compute(expr) => [
                    number(None, Cow::Borrowed(expr)),
                    number(None, at_first_slices(expr, &statement.operands, layouts)),
                ],
                Definition::Opaque(opaque) => [number(Some(opaque.procedure), Cow::Borrowed(&opaque.access)); 2],
                Definition::Concat { .. } => [u32::MAX; 2],
            };
            definitions.push(numbers[0]);
            sliced.push(numbers[1]);
        }
        let mut known: FxHashMap<&[usize], u32> = FxHashMap::default();
        let strides = layouts.values().map(|layout| {
            let next = known.len() as u32;
            *known.entry(&layout.strides).or_insert(next)
        });
        Self { definitions, at_first_slices: sliced, layouts: strides.collect() }
    }

    /// The key of these statements.
    pub(crate) fn key(&self, program: &TensorProgram, uses: &Uses, members: &[StatementId]) -> StructuralKey {
        let mut words: Vec<u32> = Vec::with_capacity(members.len() * 6);
        let mut outside: Vec<TensorId> = Vec::new();
        for &member in members {
            let statement = &program.statements[member];
            let is_inside = |operand: &TensorId| {
                program.producer(*operand).is_some_and(|producer| members.binary_search(&producer).is_ok())
            };
            // What a member computes is composed into its readers, where another slice may be another scalar.
            let reads_inside = statement.operands.iter().any(is_inside);
            words.push(if reads_inside { self.definitions[member] } else { self.at_first_slices[member] });
            words.push(u32::from(uses.leaves_slice(statement.output, members)));
            words.push(self.layouts[statement.output]);
            for &operand in &statement.operands {
                let producer = program.producer(operand).and_then(|producer| members.binary_search(&producer).ok());
                if let Some(position) = producer {
                    words.push(position as u32);
                    continue;
                }
                let position = outside.iter().position(|other| *other == operand).unwrap_or_else(|| {
                    outside.push(operand);
                    outside.len() - 1
                });
                words.push(OUTSIDE | position as u32);
                words.push(self.layouts[operand]);
            }
        }
        StructuralKey(words)
    }
}

/// Slices whose distance is a multiple of so many elements are aligned alike for every vector.
const ALIGNED_ELEMENTS: usize = 16;

/// The expression with the first slice in place of another wherever all reads of an operand read the same one, aligned as the
/// first is: a step of a sequence costs what any other does.
fn at_first_slices<'e>(
    expr: &'e TensorExpr,
    operands: &[TensorId],
    layouts: &Arena<TensorId, Layout>,
) -> Cow<'e, TensorExpr> {
    let slice = |index: &Index| {
        let range = index.is_free_of_reads().then(|| index.range(&|axis| expr.range(axis)))?;
        (range.minimum == range.maximum).then_some(range.minimum)
    };
    let mut moved = Cow::Borrowed(expr);
    for (position, operand) in operands.iter().enumerate() {
        let strides = &layouts[*operand].strides;
        for dimension in (0..strides.len()).filter(|&at| strides[at].is_multiple_of(ALIGNED_ELEMENTS)) {
            let mut reads = expr.reads.iter().filter(|(_, read)| read.operand == position);
            let Some(place) = reads.next().and_then(|(_, read)| slice(&read.index[dimension])) else { continue };
            if place == 0 || !reads.all(|(_, read)| slice(&read.index[dimension]) == Some(place)) {
                continue;
            }
            for read in moved.to_mut().reads.values_mut().filter(|read| read.operand == position) {
                read.index[dimension] = Index::constant(0);
            }
        }
    }
    moved
}
