//! Products that are added to one another become one product along both reductions.
//!
//! A step of a recurrent layer adds the product of its input to that of its state. A kernel that computes both along one reduction
//! begins and ends once. What is multiplied is laid end to end for each sum, the weights once for all sums that read them.

use std::collections::{BTreeMap, BTreeSet};

use super::rewriting::rebuild::{Rebuild, union};
use super::rewriting::uses::Uses;
use crate::arena::Arena;
use crate::expr::substitute::{append, replace_axes};
use crate::expr::{
    Axis, AxisId, AxisKind, BinaryOp, ExprBuilder, Index, Read, ReadId, Reducer, Scalar, TensorExpr, merge_operands,
};
use crate::program::{Definition, Source, Statement, StatementId, TensorId, TensorProgram};
use crate::types::{ElementType, TensorType};

/// Sums that read the same weights, from which joined copies of the weights pay.
const FEWEST_SUMS: usize = 16;
/// Rows of a product from which blocks of threads compute it tile by tile. Products of fewer rows keep their weights on chip.
const FEWEST_ROWS: usize = 16;

/// Weights, and the dimension of each along which its product is summed.
type Weights = Vec<(TensorId, usize)>;

/// The program in which sums of products that read the same weights as others are one product each. Sums are taken in another
/// order; otherwise values are unchanged.
pub fn join_products(program: &TensorProgram) -> TensorProgram {
    let finder = Finder { program, uses: Uses::of(program), standing: standing(program) };
    let mut sums: BTreeMap<StatementId, Sum> =
        program.statements.iter().filter_map(|(id, statement)| Some((id, finder.sum(statement)?))).collect();
    let mut readers: BTreeMap<Weights, usize> = BTreeMap::new();
    sums.values().for_each(|sum| *readers.entry(sum.weights()).or_default() += 1);
    sums.retain(|_, sum| readers[&sum.weights()] >= FEWEST_SUMS);
    if sums.is_empty() {
        return program.clone();
    }
    let mut joining = Joining { program, builder: Rebuild::new(program), weights: BTreeMap::new() };
    for (id, statement) in program.statements.iter() {
        match sums.get(&id) {
            Some(sum) => joining.join(statement, sum),
            None => _ = joining.builder.keep(statement),
        }
    }
    joining.builder.finish(program).pruned()
}

/// The tensors that are the same for all inputs of a launch: constants, states and what is computed of them.
fn standing(program: &TensorProgram) -> BTreeSet<TensorId> {
    let given =
        program.tensors.iter().filter(|(_, tensor)| matches!(tensor.source, Source::Constant(_) | Source::State(_)));
    let mut found: BTreeSet<TensorId> = given.map(|(id, _)| id).collect();
    for statement in program.statements.values() {
        if statement.operands.iter().all(|operand| found.contains(operand)) {
            found.insert(statement.output);
        }
    }
    found
}

/// Products over the same rows and columns, and what is added to them.
struct Sum {
    products: Vec<Product>,
    /// The statements whose products the sum takes in.
    added: Vec<StatementId>,
}

/// A sum of products along one axis, over the parallel axes of a sum that it is part of.
struct Product {
    expr: TensorExpr,
    operands: Vec<TensorId>,
    /// What differs from sum to sum.
    moving: Factor,
    weight: Factor,
    /// What is added to it.
    rest: Vec<Scalar>,
}

/// A factor: a plain read, all of whose tensor the reduction walks along in one dimension.
#[derive(Clone)]
struct Factor {
    tensor: TensorId,
    ty: TensorType,
    index: Vec<Index>,
    dimension: usize,
}

impl Factor {
    /// The axes of the other dimensions, in order, if those are plain or constant.
    fn others(&self) -> Option<Vec<AxisId>> {
        let others = self.index.iter().enumerate().filter(|(at, _)| *at != self.dimension);
        others.map(|(_, index)| index).filter(|index| index.as_constant().is_none()).map(Index::as_axis).collect()
    }

    /// Whether the other can be laid behind it, along the reduction.
    fn continues(&self, other: &Self) -> bool {
        let alike = |at: usize| self.index[at] == other.index[at] && self.ty.shape[at] == other.ty.shape[at];
        let rank = self.index.len();
        self.dimension == other.dimension
            && other.index.len() == rank
            && (0..rank).all(|at| at == self.dimension || alike(at))
    }

    fn extent(&self) -> usize {
        self.ty.shape[self.dimension]
    }
}

impl Sum {
    fn weights(&self) -> Weights {
        self.products.iter().map(|product| (product.weight.tensor, product.weight.dimension)).collect()
    }

    fn fits(&self) -> bool {
        let [first, others @ ..] = self.products.as_slice() else { return false };
        let Some(rows) = first.moving.others() else { return false };
        let count: usize = rows.iter().map(|axis| first.expr.axes[*axis].extent).product();
        let alike =
            |other: &Product| other.moving.others().as_ref() == Some(&rows) && first.weight.continues(&other.weight);
        !others.is_empty() && count >= FEWEST_ROWS && others.iter().all(alike)
    }
}

/// Finds sums in a program.
struct Finder<'p> {
    program: &'p TensorProgram,
    uses: Uses,
    standing: BTreeSet<TensorId>,
}

impl Finder<'_> {
    /// The sum of two or more products that a statement computes, if nothing else reads those.
    fn sum(&self, statement: &Statement) -> Option<Sum> {
        let expr = statement.definition.expr()?;
        let mut added = Vec::new();
        let (expr, operands) = match expr.reducer {
            Some(_) => (expr.clone(), statement.operands.clone()),
            None => {
                let (id, expr, operands) = self.with_first_product(statement, expr)?;
                added.push(id);
                (expr, operands)
            }
        };
        let mut first = self.product(expr, operands)?;
        let mut others = Vec::new();
        let terms = std::mem::take(&mut first.rest);
        for term in terms {
            match self.added_product(&first, &term) {
                Some((id, product)) => {
                    added.push(id);
                    others.push(product);
                }
                None => first.rest.push(term),
            }
        }
        others.insert(0, first);
        Some(Sum { products: others, added }).filter(Sum::fits)
    }

    /// The first product that a map reads, with the map behind it.
    fn with_first_product(
        &self,
        statement: &Statement,
        expr: &TensorExpr,
    ) -> Option<(StatementId, TensorExpr, Vec<TensorId>)> {
        let mut terms = Vec::new();
        flatten(&expr.body, &mut terms);
        let reads = terms.iter().filter_map(|term| if let Scalar::Read(read) = term { Some(*read) } else { None });
        let operands: Vec<usize> = reads.map(|read| expr.reads[read].operand).collect();
        operands.into_iter().find_map(|at| {
            let (id, producer) = self.sole_product(statement.operands[at])?;
            let appended = append(producer.definition.expr()?, expr, at)?;
            let behind = statement.operands.iter().enumerate().filter(|(other, _)| *other != at);
            let operands = producer.operands.iter().chain(behind.map(|(_, operand)| operand)).copied();
            Some((id, appended, operands.collect()))
        })
    }

    /// The product that a term of a sum reads, over the sum's axes.
    fn added_product(&self, first: &Product, term: &Scalar) -> Option<(StatementId, Product)> {
        let Scalar::Read(read) = term else { return None };
        let read = &first.expr.reads[*read];
        let (id, statement) = self.sole_product(first.operands[read.operand])?;
        let expr = statement.definition.expr()?;
        let parallel = first.expr.axes.values().filter(|axis| axis.kind == AxisKind::Parallel);
        let mut axes: Arena<AxisId, Axis> = parallel.copied().collect();
        let reduced: Vec<AxisId> = expr.reduced().map(|axis| axes.push(expr.axes[axis])).collect();
        let replacement: Vec<Index> = read.index.iter().cloned().chain(reduced.into_iter().map(Index::axis)).collect();
        let is_whole = read.guard.is_always() && read.index.iter().all(Index::is_free_of_reads);
        let moved = is_whole.then(|| replace_axes(expr, &axes, &replacement))?;
        Some((id, self.product(moved, statement.operands.clone())?))
    }

    /// The statement that computes a tensor which one other reads, if it reduces.
    fn sole_product(&self, tensor: TensorId) -> Option<(StatementId, &Statement)> {
        let id = self.program.producer(tensor)?;
        let statement = &self.program.statements[id];
        let is_sole = self.uses.readers(tensor).len() == 1 && !self.uses.is_live_out(tensor);
        let reduces = statement.definition.expr()?.reducer == Some(Reducer::Sum);
        (is_sole && reduces).then_some((id, statement))
    }

    fn product(&self, expr: TensorExpr, operands: Vec<TensorId>) -> Option<Product> {
        let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return None };
        let is_plain = expr.reducer == Some(Reducer::Sum)
            && expr.element == ElementType::F32
            && expr.body_element() == ElementType::F32
            && expr.indirect_indices().is_empty();
        let reduced: Vec<AxisId> = expr.reduced().collect();
        let ([axis], true) = (reduced.as_slice(), is_plain) else { return None };
        let factors = [left, right].map(|factor| factor_of(&expr, &operands, factor, *axis));
        let [Some(left), Some(right)] = factors else { return None };
        let (moving, weight) = match [&left, &right].map(|factor| self.standing.contains(&factor.tensor)) {
            [false, true] => (left, right),
            [true, false] => (right, left),
            [true, true] | [false, false] => return None,
        };
        let mut rest = Vec::new();
        flatten(expr.epilogue.as_ref().unwrap_or(&Scalar::Reduced), &mut rest);
        let place = rest.iter().position(|term| *term == Scalar::Reduced)?;
        rest.remove(place);
        let mut is_sum = true;
        rest.iter().for_each(|term| term.visit(&mut |part| is_sum &= *part != Scalar::Reduced));
        is_sum.then_some(Product { operands, moving, weight, rest, expr })
    }
}

/// The terms of a sum.
fn flatten(scalar: &Scalar, terms: &mut Vec<Scalar>) {
    match scalar {
        Scalar::Binary(BinaryOp::Add, left, right) => [left, right].into_iter().for_each(|part| flatten(part, terms)),
        other => terms.push(other.clone()),
    }
}

/// A factor of the product that is summed along an axis.
fn factor_of(expr: &TensorExpr, operands: &[TensorId], factor: &Scalar, axis: AxisId) -> Option<Factor> {
    let Scalar::Read(read) = factor else { return None };
    let Read { operand, index, guard, .. } = &expr.reads[*read];
    let ty = &expr.operands[*operand];
    let mut walked = index.iter().enumerate().filter(|(_, index)| index.coefficient(axis) != 0 || !index.is_affine());
    let ((dimension, along), None) = (walked.next()?, walked.next()) else { return None };
    let is_whole = along.as_axis() == Some(axis) && ty.shape[dimension] == expr.axes[axis].extent;
    (is_whole && guard.is_always() && ty.element == ElementType::F32).then(|| Factor {
        tensor: operands[*operand],
        ty: ty.clone(),
        index: index.clone(),
        dimension,
    })
}

/// A program whose sums are being joined.
struct Joining<'p> {
    program: &'p TensorProgram,
    builder: Rebuild,
    weights: BTreeMap<Weights, TensorId>,
}

impl Joining<'_> {
    fn join(&mut self, statement: &Statement, sum: &Sum) {
        let first = &sum.products[0];
        let added = sum.added.iter().map(|id| &self.program.statements[*id]);
        let origins = union(added.chain([statement]));
        let weight = self.weight(statement, sum);
        let moving = self.moving(statement, sum);
        let mut expr = ExprBuilder::new();
        let extents: Vec<usize> = first.expr.parallel().map(|axis| first.expr.axes[axis].extent).collect();
        expr.parallels(&extents);
        let along = expr.reduced(sum.products.iter().map(|product| product.moving.extent()).sum());
        let rows = first.moving.others().expect("a sum that fits has plain rows");
        let place = rows.into_iter().chain([along]).map(Index::axis).collect();
        let operand = expr.operand(self.builder.ty(moving));
        let moving_read = expr.read(operand, place);
        let mut place = first.weight.index.clone();
        place[first.weight.dimension] = Index::axis(along);
        let operand = expr.operand(self.builder.ty(weight));
        let weight_read = expr.read(operand, place);
        let mut operands = vec![moving, weight];
        let mut epilogue = Scalar::Reduced;
        for product in &sum.products {
            for term in &product.rest {
                epilogue = epilogue.binary(BinaryOp::Add, self.term(product, term, &mut expr, &mut operands));
            }
        }
        let epilogue = (epilogue != Scalar::Reduced).then_some(epilogue);
        let body = moving_read.binary(BinaryOp::Multiply, weight_read);
        let joined = expr.reduce(ElementType::F32, Reducer::Sum, body, epilogue);
        let (joined, operands) = merge_operands(&joined, &operands);
        self.builder.define(statement, origins, joined, &operands);
    }

    /// A term of a product in the joined expression.
    fn term(&self, product: &Product, term: &Scalar, expr: &mut ExprBuilder, operands: &mut Vec<TensorId>) -> Scalar {
        let mut moved: BTreeMap<ReadId, Scalar> = BTreeMap::new();
        for id in product.expr.reads_of(term) {
            let Read { operand, index, guard, fill } = product.expr.reads[id].clone();
            operands.push(self.builder.map(product.operands[operand]));
            let operand = expr.operand(&product.expr.operands[operand]);
            moved.insert(id, expr.guarded_read(operand, index, guard, fill));
        }
        term.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(id) => moved[id].clone(),
            other => other.clone(),
        })
    }

    /// The weights end to end.
    fn weight(&mut self, statement: &Statement, sum: &Sum) -> TensorId {
        let weights = sum.weights();
        if let Some(&known) = self.weights.get(&weights) {
            return known;
        }
        let parts: Vec<TensorId> = weights.iter().map(|(tensor, _)| self.builder.map(*tensor)).collect();
        let joined = self.builder.joined(statement.origins.clone(), sum.products[0].weight.dimension, &parts);
        self.weights.insert(weights, joined);
        joined
    }

    /// What a sum multiplies its weights by, end to end: rows, then the reduction.
    fn moving(&mut self, statement: &Statement, sum: &Sum) -> TensorId {
        let mut parts = Vec::new();
        for product in &sum.products {
            for piece in pieces(self.program, product.moving.clone()) {
                let copy = copy(&product.expr, &piece);
                let tensor = self.builder.map(piece.tensor);
                parts.push(self.builder.compute(statement.origins.clone(), copy, &[tensor]));
            }
        }
        let rows = self.builder.ty(parts[0]).shape.len() - 1;
        self.builder.joined(statement.origins.clone(), rows, &parts)
    }
}

/// A factor by the tensors that its own is joined of, in order along the reduction.
fn pieces(program: &TensorProgram, factor: Factor) -> Vec<Factor> {
    let producer = program.producer(factor.tensor).map(|id| &program.statements[id]);
    let Some((Definition::Concat { axis }, parts)) = producer.map(|by| (&by.definition, &by.operands)) else {
        return vec![factor];
    };
    let place = factor.index[*axis].as_constant();
    if *axis != factor.dimension && place.is_none() {
        return vec![factor];
    }
    let (mut first, mut found) = (0, Vec::new());
    for &tensor in parts {
        let ty = program.tensors[tensor].ty.clone();
        let behind = first + ty.shape[*axis] as i64;
        let mut piece = Factor { tensor, ty, ..factor.clone() };
        match place {
            Some(place) if (first..behind).contains(&place) => {
                piece.index[*axis] = Index::constant(place - first);
                found.extend(pieces(program, piece));
            }
            Some(_) => {}
            None => found.extend(pieces(program, piece)),
        }
        first = behind;
    }
    found
}

/// A copy of a factor, read at the axes of an expression: its rows, then the reduction.
fn copy(of: &TensorExpr, factor: &Factor) -> TensorExpr {
    let rows = factor.others().expect("a sum that fits has plain rows");
    let mut expr = ExprBuilder::new();
    let mut axes: BTreeMap<AxisId, AxisId> = BTreeMap::new();
    for row in rows {
        axes.insert(row, expr.parallel(of.axes[row].extent));
    }
    let along = expr.parallel(factor.extent());
    let place = |(at, index): (usize, &Index)| match index.as_axis() {
        _ if at == factor.dimension => Index::axis(along),
        Some(row) => Index::axis(axes[&row]),
        None => index.clone(),
    };
    let index = factor.index.iter().enumerate().map(place).collect();
    let operand = expr.operand(&factor.ty);
    let read = expr.read(operand, index);
    expr.map(ElementType::F32, read)
}
