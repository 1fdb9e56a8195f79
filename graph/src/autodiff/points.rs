//! What a statement computes at a point of its axes, and the sum of such values over the points that read an element.

use super::chain::{Chain, Finished, Known, sum, times};
use super::factors::with_common_factors_outside;
use super::partial::Differentiated;
use super::system::{Solution, System};
use crate::arena::{Arena, Id};
use crate::expr::parts::{axes_behind, with_used_reads};
use crate::expr::{
    Axis, AxisId, AxisKind, Condition, Guard, Index, IndirectIndex, Literal, Read, ReadId, Reducer, Scalar, TensorExpr,
    substitute,
};
use crate::program::Ties;
use crate::types::TensorType;

/// A scalar of an expression as an expression of its own, at the points of all axes that it may name.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// Without reducer; every axis counts.
    pub expr: TensorExpr,
    /// The axes of the statement's output, in order.
    pub output: Vec<AxisId>,
    /// Who is handed the gradient of an extreme.
    pub ties: Ties,
}

impl Points {
    /// The points of an expression's body.
    pub fn of_body(expr: &TensorExpr, ties: Ties) -> Self {
        Self::of(expr, &expr.body, expr.axes.clone(), ties)
    }

    /// The points of an expression's epilogue, with the reduced value as one more operand.
    pub fn of_epilogue(expr: &TensorExpr, epilogue: &Scalar, ties: Ties) -> Self {
        let mut with_reduced = expr.clone();
        let ty = TensorType { element: expr.body_element(), shape: expr.output().shape };
        with_reduced.operands.push(ty.clone());
        let index = expr.parallel().map(Index::axis).collect();
        let fill = Literal::new(ty.element, 0.0);
        let operand = expr.operands.len();
        let read = with_reduced.reads.push(Read { operand, index, guard: Guard::always(), fill });
        let replace = &mut |leaf: &Scalar| if *leaf == Scalar::Reduced { Scalar::Read(read) } else { leaf.clone() };
        let scalar = epilogue.map_leaves(replace);
        let parallel = expr.parallel().map(|axis| expr.axes[axis]).collect();
        Self::of(&with_reduced, &scalar, parallel, ties)
    }

    fn of(expr: &TensorExpr, scalar: &Scalar, axes: Arena<AxisId, Axis>, ties: Ties) -> Self {
        let output = expr.parallel().collect();
        let element = expr.element_of(scalar);
        let alone = TensorExpr { body: scalar.clone(), reducer: None, epilogue: None, element, ..expr.clone() };
        Self { expr: TensorExpr { axes, ..with_used_reads(&alone) }, output, ties }
    }

    /// The floating-point reads by operand.
    pub fn variables(&self) -> Vec<(ReadId, usize)> {
        let reads = self.expr.reads.iter();
        let floating = reads.filter(|(_, read)| self.expr.operands[read.operand].element.is_float());
        floating.map(|(id, read)| (id, read.operand)).collect()
    }

    /// The gradient with respect to what a read gives, element by element of the operand of `source`, which would give the
    /// same; `None` where it is 0.
    ///
    /// Its operands are those of the points, the adjoint of the output, which is multiplied by `scale`, and the output's own
    /// value where its type is given.
    pub fn gradient(
        &self,
        [read, source]: [ReadId; 2],
        adjoint: &TensorType,
        scale: f64,
        forward: Option<&TensorType>,
    ) -> Option<TensorExpr> {
        let target = self.expr.operands[self.expr.reads[source].operand].clone();
        let mut shifted = self.shifted(&target);
        let value = shifted.read_at_output(adjoint);
        let adjoint_read = ReadId::from_index(shifted.expr.reads.len() - 1);
        let known = forward.map(|ty| shifted.read_at_output(ty));
        let whole = shifted.expr.body.clone();
        let seed = Chain::new(adjoint.element, value).times(Scalar::literal(adjoint.element, scale));
        let chains = shifted.chains(read, seed);
        let known = known.as_ref().map(|value| Known { scalar: &whole, value });
        let finished = sum(&chains, known)?;
        Some(shifted.transposed(&target, [source, adjoint_read], finished))
    }

    /// The same points with one more operand, and the read that gives from it at this index what `read` gives.
    pub fn with_source(&self, read: ReadId, ty: TensorType, index: Vec<Index>) -> (Self, ReadId) {
        let mut points = self.clone();
        points.expr.operands.push(ty);
        let operand = points.expr.operands.len() - 1;
        let source = points.expr.reads.push(Read { operand, index, ..self.expr.reads[read].clone() });
        (points, source)
    }

    /// The number with which what a read gives is multiplied, if the scalar is linear in it.
    pub fn number(&self, read: ReadId) -> Option<f64> {
        let seed = Chain::new(self.expr.element, Scalar::literal(self.expr.element, 1.0));
        let chains = self.chains(read, seed);
        let numbers = chains.iter().map(Chain::number).collect::<Option<Vec<f64>>>()?;
        Some(numbers.into_iter().sum())
    }

    fn chains(&self, read: ReadId, seed: Chain) -> Vec<Chain> {
        let differentiated = Differentiated { expr: &self.expr, scalar: &self.expr.body, ties: self.ties };
        let partials = differentiated.partials(seed).into_iter();
        partials.filter(|(other, _)| *other == read).map(|(_, chain)| chain).collect()
    }

    /// The same points behind axes for the dimensions of a target.
    fn shifted(&self, target: &TensorType) -> Self {
        let dimensions = target.shape.iter().map(|&extent| Axis { extent, kind: AxisKind::Parallel });
        let axes: Arena<AxisId, Axis> = dimensions.chain(self.expr.axes.values().copied()).collect();
        let moved = |axis: AxisId| AxisId::from_index(axis.index() + target.shape.len());
        let replacement: Vec<Index> = self.expr.axes.ids().map(|axis| Index::axis(moved(axis))).collect();
        let expr = substitute::replace_axes(&self.expr, &axes, &replacement);
        Self { expr, output: self.output.iter().map(|&axis| moved(axis)).collect(), ties: self.ties }
    }

    fn read_at_output(&mut self, ty: &TensorType) -> Scalar {
        self.expr.operands.push(ty.clone());
        let index = self.output.iter().map(|&axis| Index::axis(axis)).collect();
        let fill = Literal::new(ty.element, 0.0);
        let read = Read { operand: self.expr.operands.len() - 1, index, guard: Guard::always(), fill };
        Scalar::Read(self.expr.reads.push(read))
    }

    /// The sum of a value, a multiple of `adjoint`, over all points where `read` reads an element, which the first axes name.
    fn transposed(self, target: &TensorType, [read, adjoint]: [ReadId; 2], value: Finished) -> TensorExpr {
        let mut expr = TensorExpr { element: target.element, ..self.expr };
        expr.body = value.scalar;
        let source = expr.reads[read].clone();
        let equations = source
            .index
            .iter()
            .enumerate()
            .map(|(dimension, index)| index.add(&Index::axis(AxisId::from_index(dimension)).times(-1)));
        let axes_of = |place: IndirectIndex| axes_behind(&expr, place.read);
        let solution = System::solve(expr.axes.clone(), target.shape.len(), equations.collect(), axes_of);
        let guard = total_guard(&solution, &source.guard);
        guard_reads(&mut expr, &guard, &solution, adjoint);
        let finite = expr.reads_of(&expr.body).into_iter().all(|read| {
            let fill = expr.reads[read].fill;
            !fill.element().is_float() || fill.to_f64().is_finite()
        });
        if !(guard.is_always() || value.is_polynomial && finite) {
            let zero = Scalar::literal(expr.element, 0.0);
            expr.body = Scalar::Holds(guard).select(expr.body, zero);
        }
        summed(&expr, value.scale, target, &solution)
    }
}

/// What holds where the read takes place at a point that reads the element.
fn total_guard(solution: &Solution, own: &Guard) -> Guard {
    let range = |axis: AxisId| solution.range(axis);
    let value = |axis: AxisId| solution.values[axis].clone();
    let moved = own.conditions().iter().cloned().map(|mut condition| {
        condition.index = condition.index.substitute(&value, &|read| read, &range);
        condition
    });
    moved
        .chain(solution.conditions.iter().cloned())
        .fold(Guard::always(), |guard, condition| guard.and(condition, &range))
}

/// Lets the adjoint be read where all conditions hold, and gives the other reads as many as keep them inside their operands.
///
/// Fewer conditions leave the factors of a product independent of each other's axes.
fn guard_reads(expr: &mut TensorExpr, guard: &Guard, solution: &Solution, adjoint: ReadId) {
    let range = |axis: AxisId| solution.range(axis);
    let value = |axis: AxisId| solution.values[axis].clone();
    let at_solution = |index: &Index| index.substitute(&value, &|read| read, &range);
    for id in expr.reads.ids() {
        let read = &expr.reads[id];
        let extents = &expr.operands[read.operand].shape;
        let places: Vec<Index> = read.index.iter().map(at_solution).collect();
        let outside = |(place, extent): &(&Index, &usize)| !place.range(&range).within(0, **extent as i64);
        let beyond: Vec<&Index> = places.iter().zip(extents.iter()).filter(outside).map(|(place, _)| place).collect();
        let bounds =
            |condition: &Condition, place: &Index| condition.index.add(&place.times(-1)).as_constant().is_some();
        let is_bounded = |place: &&Index| guard.conditions().iter().any(|condition| bounds(condition, place));
        // Under a guard of its own a read is inside for axes within their ranges, and solutions may lie beyond.
        let all = !read.guard.is_always() || !beyond.iter().all(is_bounded);
        let needed = |condition: &&Condition| {
            let bounds_one = beyond.iter().any(|place| bounds(condition, place));
            id == adjoint || (condition.index.is_free_of_reads() && (all || bounds_one))
        };
        let conditions: Vec<Condition> = guard.conditions().iter().filter(needed).cloned().collect();
        let own = std::mem::take(&mut expr.reads[id].guard);
        expr.reads[id].guard = conditions.into_iter().fold(own, |guard, condition| guard.and(condition, &range));
    }
}

/// `scale` times the expression over the dimensions of the target, summed over the free axes.
fn summed(expr: &TensorExpr, scale: f64, target: &TensorType, solution: &Solution) -> TensorExpr {
    let parallel = target.shape.iter().map(|&extent| Axis { extent, kind: AxisKind::Parallel });
    let reduced =
        solution.free.iter().map(|&axis| Axis { extent: solution.axes[axis].extent, kind: AxisKind::Reduced });
    let axes: Arena<AxisId, Axis> = parallel.chain(reduced).collect();
    let new_axis = |axis: AxisId| match solution.free.iter().position(|&free| free == axis) {
        Some(position) => Index::axis(AxisId::from_index(target.shape.len() + position)),
        None => Index::axis(axis),
    };
    let range = |axis: AxisId| crate::expr::Range { minimum: 0, maximum: (axes[axis].extent as i64 - 1).max(0) };
    let replacement = solution.values.values().map(|value| value.substitute(&new_axis, &|read| read, &range));
    let replacement: Vec<Index> = replacement.collect();
    let whole = TensorExpr { axes: solution.axes.clone(), ..expr.clone() };
    let mut moved = substitute::replace_axes(&with_used_reads(&whole), &axes, &replacement);
    if solution.free.is_empty() {
        moved.body = times(moved.body, scale, target.element);
    } else {
        moved.reducer = Some(Reducer::Sum);
        moved.epilogue = (scale != 1.0).then(|| times(Scalar::Reduced, scale, target.element));
        moved = with_common_factors_outside(moved);
    }
    with_used_reads(&moved)
}
