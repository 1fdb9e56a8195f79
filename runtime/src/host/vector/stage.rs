//! What a stage reads and writes, placed in memory.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{BinaryOp, Condition, Index, Literal, Read, ReadId, Reducer, Scalar, TensorExpr};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::plan::{MemoryPlan, ROperator};
use warpweave_plan::template::staged::StagedBox;

use super::load::Load;
use super::place::{Bounds, LaneAxes, Place};
use super::store::Store;
use crate::host::indices::HostIndexChecks;
use crate::host::memory::{Base, Bases, HostSpace, address};
use crate::host::stage::strides;

/// Where a read's values come from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Source {
    /// Elements of a buffer; the index, which has no constant, counts them from the base on.
    Memory { space: HostSpace, element: ElementType, base: Base, index: Index },
    /// The value of an earlier stage.
    Stage(usize),
}

/// Where a stage writes: the index, which has no constant, counts elements from the base on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Output {
    pub(crate) element: ElementType,
    pub(crate) base: Base,
    pub(crate) index: Index,
}

/// A stage's expression with the sources of its reads.
pub(crate) struct StageReads {
    pub(crate) expr: TensorExpr,
    pub(crate) sources: Arena<ReadId, Source>,
    pub(crate) output: Option<Output>,
    pub(crate) checks: HostIndexChecks,
    /// The reads whose values name places.
    indirect: Vec<ReadId>,
}

impl StageReads {
    /// Places a stage of an operator whose tensors are placed.
    pub(crate) fn new(
        operator: &ROperator,
        stage: &Stage,
        memory: &MemoryPlan,
        boxes: &[StagedBox],
        bases: &mut Bases,
    ) -> Self {
        let place = |tensor, index: &[Index], bases: &mut Bases| {
            let planned = &memory.tensors[tensor];
            let buffer = planned.buffer.expect("a verified plan places every tensor that is used");
            let element = planned.ty.element;
            let linear = Index::linear(index, &planned.layout.strides, planned.layout.offset);
            let base = bases.add(address(buffer, element, linear.offset()));
            (HostSpace::Plan(buffer.space), element, base, linear.plus(-linear.offset()))
        };
        let source = |read: &Read, bases: &mut Bases| match stage.sources[read.operand] {
            StageSource::Stage(earlier) => Source::Stage(earlier),
            StageSource::Staged(earlier) => {
                let index = Index::linear(&read.index, &strides(&boxes[earlier]), 0);
                let element = stage.expr.operands[read.operand].element;
                let base = bases.add(index.offset() * element.bytes() as i64);
                let index = index.plus(-index.offset());
                Source::Memory { space: HostSpace::Staged(earlier), element, base, index }
            }
            StageSource::Operand(operand) => {
                let (space, element, base, index) = place(operator.kernel.body().operands[operand], &read.index, bases);
                Source::Memory { space, element, base, index }
            }
        };
        let sources = stage.expr.reads.values().map(|read| source(read, bases)).collect();
        let output = stage.output.as_ref().map(|output| {
            let (_, element, base, index) =
                place(operator.kernel.body().outputs[output.position], &output.index, bases);
            Output { element, base, index }
        });
        let mut indirect: Vec<ReadId> = Vec::new();
        let mut expr = stage.expr.clone();
        expr.visit_indices(&mut |index| index.visit(&mut |_| {}, &mut |read| indirect.push(read)));
        for index in expr.reads.values_mut().flat_map(|read| &mut read.index) {
            // The base has it, so that stages that read different slices are equal.
            if index.as_constant().is_some() {
                *index = Index::constant(0);
            }
        }
        let checks = HostIndexChecks::new(operator.kernel.body(), stage);
        Self { expr, sources, output, checks, indirect }
    }

    /// Writes the values to a box of such strides, as the stage's parallel axes say.
    pub(crate) fn keep_in_box(&mut self, strides: &[usize], bases: &mut Bases) {
        let axes: Vec<Index> = self.expr.parallel().map(Index::axis).collect();
        let (base, index) = (bases.add(0), Index::linear(&axes, strides, 0));
        self.output = Some(Output { element: self.expr.element, base, index });
    }

    /// The same with constant bounds of what an extreme is taken of as bounds of the extreme, which is one operation instead of one
    /// a reduced value.
    pub(crate) fn with_bounds_last(mut self) -> Self {
        let expr = &mut self.expr;
        let is_extreme = matches!(expr.reducer, Some(Reducer::Maximum | Reducer::Minimum));
        let has_values = expr.axes.values().all(|axis| axis.extent > 0);
        while is_extreme && has_values && expr.body_element() == ElementType::F32 {
            let Scalar::Binary(op @ (BinaryOp::Maximum | BinaryOp::Minimum), left, right) = &expr.body else { break };
            let (value, bound) = match (left.as_ref(), right.as_ref()) {
                (value, Scalar::Literal(bound)) | (Scalar::Literal(bound), value) => (value.clone(), *bound),
                _ => break,
            };
            if bound.to_f64().is_nan() {
                break;
            }
            let bounded = Scalar::Binary(*op, Scalar::Reduced.into(), Scalar::Literal(bound).into());
            let after = expr.epilogue.take().unwrap_or(Scalar::Reduced);
            expr.epilogue = Some(after.map_leaves(&mut |leaf| match leaf {
                Scalar::Reduced => bounded.clone(),
                leaf => leaf.clone(),
            }));
            expr.body = value;
        }
        self
    }

    /// What the stage gives of its reduced value, or its body.
    pub(crate) fn result(&self) -> Scalar {
        match (&self.expr.epilogue, self.expr.reducer) {
            (Some(epilogue), _) => epilogue.clone(),
            (None, Some(_)) => Scalar::Reduced,
            (None, None) => self.expr.body.clone(),
        }
    }

    /// The element type of a read's values.
    pub(crate) fn element(&self, read: ReadId) -> ElementType {
        self.expr.operands[self.expr.reads[read].operand].element
    }

    /// Sources as they are, without what else a stage has.
    pub(crate) fn bare(expr: TensorExpr, sources: Arena<ReadId, Source>) -> Self {
        Self { expr, sources, output: None, checks: HostIndexChecks::default(), indirect: Vec::new() }
    }

    /// Whether a read's values name places.
    pub(crate) fn is_indirect(&self, read: ReadId) -> bool {
        self.indirect.contains(&read)
    }

    /// A read of memory, on chunks along these axes; `is_uniform` tells of a read whether its value is the same for all points.
    pub(crate) fn load(&self, read: ReadId, lanes: LaneAxes, is_uniform: &dyn Fn(ReadId) -> bool) -> Load {
        let Source::Memory { space, element, base, index } = &self.sources[read] else {
            unreachable!("only memory is loaded")
        };
        let of = &self.expr.reads[read];
        let bounds = |condition: &Condition| Bounds::new(condition, lanes, is_uniform);
        let fill: Literal = of.fill;
        Load {
            read,
            space: *space,
            element: *element,
            base: *base,
            position: Place::new(index, lanes, is_uniform),
            guard: of.guard.conditions().iter().map(bounds).collect(),
            fill,
            is_checked: self.is_indirect(read),
            gather: None,
        }
    }

    /// The write of the stage's output, on chunks along these axes.
    pub(crate) fn store(&self, lanes: LaneAxes) -> Option<Store> {
        let Output { element, base, index } = self.output.as_ref()?;
        let Place::Line(position) = Place::new(index, lanes, &|_| false) else {
            unreachable!("verified outputs are linear in the axes")
        };
        Some(Store { element: *element, base: *base, position })
    }

    /// All indices: of reads of memory, of their guards, of scalars and of the output.
    pub(crate) fn indices(&self) -> Vec<&Index> {
        let mut found = self.indices_of(&|_| true);
        for scalar in std::iter::once(&self.expr.body).chain(&self.expr.epilogue) {
            scalar_indices(scalar, &mut |index, _| found.push(index));
        }
        found
    }

    /// The indices of the output, and of some reads of memory and of their guards.
    pub(crate) fn indices_of(&self, reads: &dyn Fn(ReadId) -> bool) -> Vec<&Index> {
        let mut found: Vec<&Index> = self.output.iter().map(|output| &output.index).collect();
        for (read, source) in self.sources.iter().filter(|(read, _)| reads(*read)) {
            if let Source::Memory { index, .. } = source {
                found.push(index);
            }
            found.extend(self.expr.reads[read].guard.conditions().iter().map(|condition| &condition.index));
        }
        found
    }
}

/// Calls with the indices of a scalar, and whether each is a value.
pub(crate) fn scalar_indices<'s>(scalar: &'s Scalar, visit: &mut impl FnMut(&'s Index, bool)) {
    match scalar {
        Scalar::Index(index, _) => visit(index, true),
        Scalar::Holds(guard) => guard.conditions().iter().for_each(|condition| visit(&condition.index, false)),
        Scalar::Literal(_) | Scalar::Read(_) | Scalar::Reduced => {}
        Scalar::Unary(_, operand) | Scalar::Cast(_, operand) => scalar_indices(operand, visit),
        Scalar::Binary(_, left, right) => [left, right].into_iter().for_each(|inner| scalar_indices(inner, visit)),
        Scalar::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|inner| scalar_indices(inner, visit));
        }
    }
}
