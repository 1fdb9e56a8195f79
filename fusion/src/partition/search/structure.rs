//! Structural keys: sets of statements with equal keys have the same body up to names, and the same cost.

use rustc_hash::FxHashMap;
use warpweave_graph::arena::Arena;
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
    layouts: Arena<TensorId, u32>,
}

/// Tags an operand from outside in a key; operands from inside are smaller.
const OUTSIDE: u32 = 1 << 31;

impl Structures {
    pub(crate) fn new(program: &TensorProgram, layouts: &Arena<TensorId, Layout>) -> Self {
        let mut known = FxHashMap::default();
        let mut number = |procedure: Option<Procedure>, expr| {
            let next = known.len() as u32;
            *known.entry((procedure, expr)).or_insert(next)
        };
        let definitions = program.statements.values().map(|statement| match &statement.definition {
            Definition::Compute(expr) => number(None, expr),
            Definition::Opaque(opaque) => number(Some(opaque.procedure), &opaque.access),
            Definition::Concat { .. } => u32::MAX,
        });
        let definitions = definitions.collect();
        let mut known: FxHashMap<&[usize], u32> = FxHashMap::default();
        let strides = layouts.values().map(|layout| {
            let next = known.len() as u32;
            *known.entry(&layout.strides).or_insert(next)
        });
        Self { definitions, layouts: strides.collect() }
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
