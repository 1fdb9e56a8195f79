//! Gradients of a program, a statement after another from the last to the first.

use std::collections::BTreeMap;

use super::extremes::{Reduction, Summed};
use super::parts::{Part, sum_of, whole};
use super::points::Points;
use crate::arena::Arena;
use crate::expr::parts::identity;
use crate::expr::{Reducer, TensorExpr, merge_operands};
use crate::legible::legible;
use crate::ops::indexing::keyed_sums;
use crate::ops::layout::movement;
use crate::program::{Definition, Differentiable, Origin, OriginId, Phase, ProgramBuilder, Statement, TensorId, Ties};

/// Why a program has no gradients.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AutodiffError {
    /// A result that a gradient is wanted of comes of a procedure, which has no derivative.
    #[error("{} has no derivative", legible(.node))]
    Procedure {
        /// The node of the model.
        node: String,
    },
}

/// Appends the gradients of `Σ seed · output` over all elements of these outputs to a program. Its first statements are
/// those of `forward`, which has its reduced values. The result is one tensor a tensor of `wanted`, in order; `None`
/// where no output depends on it.
pub fn append_gradients(
    program: &mut ProgramBuilder,
    forward: &Differentiable,
    seeds: &[(TensorId, TensorId)],
    wanted: &[TensorId],
) -> Result<Vec<Option<TensorId>>, AutodiffError> {
    let tensors = forward.program.tensors.len().max(program.program().tensors.len());
    let mut depends: Arena<TensorId, bool> = (0..tensors).map(|_| false).collect();
    wanted.iter().for_each(|&tensor| depends[tensor] = true);
    let statements: Vec<(Statement, Ties)> =
        forward.program.statements.iter().map(|(id, statement)| (statement.clone(), forward.ties[id])).collect();
    for (statement, ties) in &statements {
        let floating = forward.program.tensors[statement.output].ty.element.is_float();
        let depending = statement.operands.iter().any(|&operand| depends[operand]);
        depends[statement.output] |= floating && depending && !is_cancelled(statement, *ties);
    }
    let mut backward = Backward { program, depends, parts: BTreeMap::new(), origins: BTreeMap::new() };
    for &(output, seed) in seeds {
        let part = Part::whole(seed, backward.program.ty(output));
        backward.parts.entry(output).or_default().push(part);
    }
    for (statement, ties) in statements.iter().rev() {
        backward.statement(statement, *ties)?;
    }
    Ok(wanted.iter().map(|&tensor| backward.adjoint(tensor)).collect())
}

/// Whether a statement is an extreme that nothing depends on.
fn is_cancelled(statement: &Statement, ties: Ties) -> bool {
    let reducer = statement.definition.expr().and_then(|expr| expr.reducer);
    ties == Ties::Cancelled && matches!(reducer, Some(Reducer::Maximum | Reducer::Minimum))
}

struct Backward<'p> {
    program: &'p mut ProgramBuilder,
    /// Whether a tensor depends on one whose gradient is wanted, or is one.
    depends: Arena<TensorId, bool>,
    /// What has been found of each tensor's gradient.
    parts: BTreeMap<TensorId, Vec<Part>>,
    /// The nodes of the model again, as those whose gradients are computed.
    origins: BTreeMap<OriginId, OriginId>,
}

impl Backward<'_> {
    /// The sum of what has been found of a tensor's gradient.
    fn adjoint(&mut self, tensor: TensorId) -> Option<TensorId> {
        let parts = self.parts.remove(&tensor)?;
        let ty = self.program.ty(tensor).clone();
        let sum = sum_of(self.program, &ty, parts);
        self.parts.insert(tensor, vec![Part::whole(sum, &ty)]);
        Some(sum)
    }

    fn backward_origin(&mut self, forward: OriginId) -> OriginId {
        let names = self.program.names();
        *self.origins.entry(forward).or_insert_with(|| {
            let Origin { operator, name, result, .. } = names.origins[forward].clone();
            let name = if name.is_empty() { result } else { name };
            names.origins.push(Origin { phase: Phase::Backward, operator, name, result: String::new() })
        })
    }

    fn statement(&mut self, statement: &Statement, ties: Ties) -> Result<(), AutodiffError> {
        if !self.depends[statement.output] {
            return Ok(());
        }
        let Some(adjoint) = self.adjoint(statement.output) else { return Ok(()) };
        let origins = statement.origins.iter().map(|&origin| self.backward_origin(origin)).collect();
        self.program.set_origins(origins);
        match &statement.definition {
            Definition::Compute(expr) => self.compute(expr, statement, adjoint, ties),
            Definition::Concat { axis } => self.concat(*axis, statement, adjoint),
            Definition::Opaque(_) => {
                let nodes = self.program.program().names.nodes(statement);
                return Err(AutodiffError::Procedure { node: nodes.join(", ") });
            }
        }
        Ok(())
    }

    fn compute(&mut self, expr: &TensorExpr, statement: &Statement, adjoint: TensorId, ties: Ties) {
        let operands = &statement.operands;
        let reduction = Reduction { expr, operands, output: statement.output };
        match (expr.reducer, &expr.epilogue) {
            (None, _) => {
                let points = Points::of_body(expr, ties);
                self.points(&points, operands, adjoint, 1.0, Some(statement.output));
            }
            (Some(Reducer::Sum), None) => {
                self.points(&Points::of_body(expr, ties), operands, adjoint, 1.0, None);
            }
            (Some(Reducer::Sum), Some(epilogue)) => {
                let points = Points::of_epilogue(expr, epilogue, ties);
                self.points(&points, operands, adjoint, 1.0, None);
                if let Some((adjoint, scale)) = self.of_reduced(&points, operands, adjoint) {
                    self.points(&Points::of_body(expr, ties), operands, adjoint, scale, None);
                }
            }
            (Some(Reducer::Maximum | Reducer::Minimum), _) => {
                if let Some(summed) = reduction.extreme(adjoint, ties, self.program) {
                    self.summed(&summed);
                }
            }
            (Some(Reducer::Product), _) => {
                let summed = reduction.product(adjoint, self.program);
                self.summed(&summed);
            }
        }
    }

    fn summed(&mut self, summed: &Summed) {
        self.points(&summed.points, &summed.operands, summed.adjoint, 1.0, None);
    }

    /// The adjoint of the value that an epilogue, which these are the points of, is given: a tensor and a number it is
    /// multiplied by.
    fn of_reduced(&mut self, points: &Points, operands: &[TensorId], adjoint: TensorId) -> Option<(TensorId, f64)> {
        let (read, _) = points.variables().into_iter().find(|(_, operand)| *operand == operands.len())?;
        let ty = self.program.ty(adjoint).clone();
        if let Some(number) = points.number(read).filter(|_| ty.element == points.expr.element) {
            return (number != 0.0).then_some((adjoint, number));
        }
        let gradient = points.gradient([read; 2], &ty, 1.0, None)?;
        // The reduced value itself is not read: programs have it as a statement of its own where it would be.
        let operands = [operands, &[adjoint, adjoint]].concat();
        Some((self.append(&gradient, &operands), 1.0))
    }

    /// Adds the gradients of all operands of points whose values are summed, or are the output.
    fn points(
        &mut self,
        points: &Points,
        operands: &[TensorId],
        adjoint: TensorId,
        scale: f64,
        output: Option<TensorId>,
    ) {
        let ty = self.program.ty(adjoint).clone();
        let forward = output.map(|output| self.program.ty(output).clone());
        for (read, operand) in points.variables() {
            let Some(&target) = operands.get(operand) else { continue };
            if !self.depends.get(target).copied().unwrap_or(false) {
                continue;
            }
            let lookup = points.lookup(read);
            let mut region = points.region(read);
            let (of, source) = match &lookup {
                Some(lookup) => points.with_slices(read, lookup),
                None => points.with_region(read, &region),
            };
            let Some(gradient) = of.gradient([read, source], &ty, scale, forward.as_ref()) else { continue };
            let mut all = operands.to_vec();
            all.resize(of.expr.operands.len(), adjoint);
            let keys = lookup.as_ref().map(|lookup| self.append(&of.keys(lookup), &all));
            all.push(adjoint);
            all.extend(output);
            let mut part = self.append(&gradient, &all);
            if let (Some(lookup), Some(keys)) = (lookup, keys) {
                let table = self.program.ty(target).clone();
                part = keyed_sums::scatter_add(self.program, &table, lookup.dimension, [part, keys]);
                region = whole(&table);
            }
            self.parts.entry(target).or_default().push(Part { tensor: part, region });
        }
    }

    /// Appends an expression over those of the operands that it reads; what only hands the adjoint on is the adjoint.
    fn append(&mut self, expr: &TensorExpr, operands: &[TensorId]) -> TensorId {
        let (expr, operands) = merge_operands(expr, operands);
        if let Some(same) = identity(&expr) {
            return operands[same];
        }
        self.program.compute(expr, &operands)
    }

    fn concat(&mut self, axis: usize, statement: &Statement, adjoint: TensorId) {
        let mut start = 0;
        for &part in &statement.operands {
            let ty = self.program.ty(part).clone();
            let extent = ty.shape[axis];
            if self.depends[part] {
                let mut starts = vec![0; ty.shape.len()];
                starts[axis] = start as i64;
                let steps = vec![1; ty.shape.len()];
                let slice = movement::slice(self.program, adjoint, &starts, &steps, &ty.shape);
                self.parts.entry(part).or_default().push(Part::whole(slice, &ty));
            }
            start += extent;
        }
    }
}
