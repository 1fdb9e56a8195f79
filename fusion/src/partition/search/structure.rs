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

/// What decides the body of a set of statements and its cost. It says each member's definition, which operands come
/// from which member or from which tensor outside, which results leave, and how tensors lie in memory.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct StructuralKey(Vec<u32>);

/// Numbers equal definitions and equal layouts of a program alike.
#[derive(Debug)]
pub(crate) struct Structures {
    /// Of definitions that read first slices in place of others.
    definitions: Arena<StatementId, u32>,
    /// By operand, of the slices in whose place the definition reads the first.
    slices: Arena<StatementId, Vec<u32>>,
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
        let mut known_slices = FxHashMap::default();
        let (mut definitions, mut slices) = (Arena::new(), Arena::new());
        for statement in program.statements.values() {
            let whole = vec![Slice::default(); statement.operands.len()];
            let (definition, places) = match &statement.definition {
                Definition::Compute(expr) => {
                    let places = slices_of(expr, &statement.operands, layouts);
                    (number(None, at_first_slices(expr, &places)), places)
                }
                Definition::Opaque(opaque) => (number(Some(opaque.procedure), Cow::Borrowed(&opaque.access)), whole),
                Definition::Concat { .. } => (u32::MAX, whole),
            };
            definitions.push(definition);
            let numbered = places.into_iter().map(|slice| {
                let next = known_slices.len() as u32;
                *known_slices.entry(slice).or_insert(next)
            });
            slices.push(numbered.collect());
        }
        let mut known: FxHashMap<&[usize], u32> = FxHashMap::default();
        let strides = layouts.values().map(|layout| {
            let next = known.len() as u32;
            *known.entry(&layout.strides).or_insert(next)
        });
        Self { definitions, slices, layouts: strides.collect() }
    }

    /// The key of these statements.
    pub(crate) fn key(&self, program: &TensorProgram, uses: &Uses, members: &[StatementId]) -> StructuralKey {
        let mut words: Vec<u32> = Vec::with_capacity(members.len() * 6);
        let mut outside: Vec<TensorId> = Vec::new();
        for &member in members {
            let statement = &program.statements[member];
            words.push(self.definitions[member]);
            words.push(u32::from(uses.leaves_slice(statement.output, members)));
            words.push(self.layouts[statement.output]);
            for (&operand, &slice) in statement.operands.iter().zip(&self.slices[member]) {
                let producer = program.producer(operand).and_then(|producer| members.binary_search(&producer).ok());
                // What a member computes is composed into its readers, where another slice may be another scalar.
                if let Some(position) = producer {
                    words.extend([position as u32, slice]);
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

/// By dimension, where an operand's only slice lies. It is none of a dimension that is read at several places, or whose
/// slices are aligned differently.
type Slice = Vec<Option<i64>>;

/// By operand, which slice a statement reads.
fn slices_of(expr: &TensorExpr, operands: &[TensorId], layouts: &Arena<TensorId, Layout>) -> Vec<Slice> {
    let place = |index: &Index| {
        let range = index.is_free_of_reads().then(|| index.range(&|axis| expr.range(axis)))?;
        (range.minimum == range.maximum).then_some(range.minimum)
    };
    let slice = |(position, operand): (usize, &TensorId)| {
        let of_dimension = |(dimension, stride): (usize, &usize)| {
            let mut reads = expr.reads.values().filter(|read| read.operand == position);
            let first = reads.next().and_then(|read| place(&read.index[dimension]))?;
            let is_only = stride.is_multiple_of(ALIGNED_ELEMENTS)
                && reads.all(|read| place(&read.index[dimension]) == Some(first));
            is_only.then_some(first)
        };
        layouts[*operand].strides.iter().enumerate().map(of_dimension).collect()
    };
    operands.iter().enumerate().map(slice).collect()
}

/// The expression with the first slice in place of these: a step of a sequence costs what any other does.
fn at_first_slices<'e>(expr: &'e TensorExpr, slices: &[Slice]) -> Cow<'e, TensorExpr> {
    let mut moved = Cow::Borrowed(expr);
    if slices.iter().flatten().any(|place| place.is_some_and(|place| place != 0)) {
        for read in moved.to_mut().reads.values_mut() {
            for (index, place) in read.index.iter_mut().zip(&slices[read.operand]) {
                if place.is_some() {
                    *index = Index::constant(0);
                }
            }
        }
    }
    moved
}
