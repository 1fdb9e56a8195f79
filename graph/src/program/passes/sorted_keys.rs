//! Reductions that compare each of many places with each of many keys, by sorting.
//!
//! Places and keys are sorted together, stably and places first. So a place stands behind the keys below it, and before those
//! that are equal to it. Where an axis decides about the keys, each of its points is a row that is sorted by itself.

use std::collections::BTreeSet;

use super::rewriting::rebuild::Rebuild;
use crate::arena::Id;
use crate::expr::parts::{alone, axes_of, identity};
use crate::expr::{
    Atom, AxisId, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar, TensorExpr, merge_operands, substitute,
};
use crate::ops::compose;
use crate::ops::indexing::keyed_sums::{self, KEY};
use crate::ops::reductions::ordering;
use crate::procedure::sort::Direction;
use crate::program::{Definition, ProgramBuilder, Statement, TensorId, TensorProgram};
use crate::types::{ElementType, TensorType};

/// Most pairs of a place and a key of a row that are compared: as many take a processor as long as sorting the places and keys.
const MOST_PAIRS: usize = 1 << 16;

/// Most reads of keys that are computed again to find that they are those of several rows.
const MOST_READS: usize = 16;

/// The program with reductions over pairs of places and keys by sorting. Sums are taken in the order of the keys.
pub fn sort_keys(program: &TensorProgram) -> TensorProgram {
    let mut sorted = false;
    let mut rebuild = Rebuild::new(program);
    for statement in program.statements.values() {
        let found = match &statement.definition {
            Definition::Compute(expr) => Keyed::of(expr).filter(Keyed::pays),
            Definition::Opaque(_) | Definition::Concat { .. } => None,
        };
        match found {
            Some(keyed) => {
                keyed.append(program, statement, &mut rebuild);
                sorted = true;
            }
            None => _ = rebuild.keep(statement),
        }
    }
    // A sum by sorted keys counts the keys below each place.
    if sorted { sort_keys(&rebuild.finish(program)) } else { program.clone() }
}

/// What is found of the keys for each place.
#[derive(Clone, PartialEq, Debug)]
enum Wanted {
    /// The number of the last key that is equal to it, or −1.
    Last,
    /// How many keys are below it.
    Below,
    /// The slices of the keys that are equal to it, combined.
    Combined(Reducer, Scalar),
}

/// A reduction of the keys along one axis for each of the places along another.
#[derive(Clone, PartialEq, Debug)]
struct Keyed {
    expr: TensorExpr,
    wanted: Wanted,
    place: AxisId,
    key: AxisId,
    /// The key, at the points of all axes but the places'.
    named: Scalar,
}

/// What has been appended of a reduction: its keys, row by row, and their axes.
struct Rows {
    keys: TensorId,
    rows: Vec<AxisId>,
    places: usize,
    count: usize,
}

impl Keyed {
    fn of(expr: &TensorExpr) -> Option<Self> {
        let mut reduced = expr.reduced();
        let (Some(key), None) = (reduced.next(), reduced.next()) else { return None };
        let (reducer, element) = (expr.reducer?, expr.body_element());
        let found = |wanted, [named, own]: [&Scalar; 2]| {
            let Scalar::Index(place, KEY) = own else { return None };
            let keyed = Self { expr: expr.clone(), wanted, place: place.as_axis()?, key, named: named.clone() };
            Some(keyed)
        };
        let keyed = match &expr.body {
            Scalar::Select(goes, then, otherwise) => {
                let Scalar::Binary(BinaryOp::Equal, named, own) = &**goes else { return None };
                let is_number = element == KEY && **then == Scalar::Index(Index::axis(key), KEY);
                let wanted = match reducer {
                    Reducer::Maximum if is_number && **otherwise == Scalar::literal(KEY, -1.0) => Wanted::Last,
                    _ if **otherwise == Scalar::Literal(reducer.identity(element)) => {
                        Wanted::Combined(reducer, (**then).clone())
                    }
                    _ => return None,
                };
                found(wanted, [named, own])?
            }
            Scalar::Cast(_, below) if element == KEY && reducer == Reducer::Sum => {
                let Scalar::Binary(BinaryOp::Less, named, own) = &**below else { return None };
                found(Wanted::Below, [named, own])?
            }
            Scalar::Read(_) => Self::of_guarded(expr, reducer, key)?,
            _ => return None,
        };
        keyed.is_apart().then_some(keyed)
    }

    /// A sum of what is read where a key is equal to a place.
    fn of_guarded(expr: &TensorExpr, reducer: Reducer, key: AxisId) -> Option<Self> {
        let Scalar::Read(slice) = expr.body else { return None };
        let read = &expr.reads[slice];
        let [condition] = read.guard.conditions() else { return None };
        let is_equality = (condition.lower, condition.upper, condition.index.offset()) == (0, 1, 0);
        let (place, named) = match condition.index.terms() {
            [(Atom::Axis(place), -1), (named @ Atom::Indirect(_), 1)]
            | [(Atom::Axis(place), 1), (named @ Atom::Indirect(_), -1)] => (*place, named.clone()),
            _ => return None,
        };
        if !is_equality || read.fill != reducer.identity(read.fill.element()) {
            return None;
        }
        let mut expr = expr.clone();
        expr.reads[slice].guard = Guard::always();
        let wanted = Wanted::Combined(reducer, Scalar::Read(slice));
        Some(Self { expr, wanted, place, key, named: Scalar::Index(Index::of(named), KEY) })
    }

    /// Whether keys and slices do not depend on the place, and the reduced value is stored, or what only it decides about.
    fn is_apart(&self) -> bool {
        let Self { expr, wanted, place, key, named } = self;
        let is_free = |scalar: &Scalar| !axes_of(expr, scalar).contains(place);
        let is_own = match wanted {
            Wanted::Last | Wanted::Below => true,
            Wanted::Combined(reducer, slice) => {
                let element = expr.body_element();
                let is_rounded = match reducer {
                    Reducer::Sum | Reducer::Product => element.is_float() && element.bits() < 32,
                    Reducer::Maximum | Reducer::Minimum => false,
                };
                is_free(slice) && !is_rounded
            }
        };
        let of_reduced =
            expr.epilogue.iter().all(|scalar| expr.reads_of(scalar).is_empty() && axes_of(expr, scalar).is_empty());
        let is_key = expr.element_of(named) == KEY && axes_of(expr, named).contains(key);
        is_own && of_reduced && is_key && is_free(named) && place != key
    }

    fn pays(&self) -> bool {
        let [places, keys] = [self.place, self.key].map(|axis| self.expr.axes[axis].extent);
        places.saturating_mul(keys) > MOST_PAIRS
    }

    fn append(&self, program: &TensorProgram, statement: &Statement, rebuild: &mut Rebuild) {
        let (named, of_named) = self.keys(program, &statement.operands);
        let of_axes = axes_of(&named, &named.body);
        let rows: Vec<AxisId> = self.expr.parallel().filter(|axis| of_axes.contains(axis)).collect();
        let others: Vec<AxisId> =
            self.expr.parallel().filter(|axis| *axis != self.place && !rows.contains(axis)).collect();
        let along = [&rows[..], &[self.key]].concat();
        let keys = part(&named, &named.body, &along, &of_named);
        let slices = match &self.wanted {
            Wanted::Combined(_, slice) => {
                Some(part(&self.expr, slice, &[&along[..], &others].concat(), &statement.operands))
            }
            Wanted::Last | Wanted::Below => None,
        };
        let [keys, slices] = [Some(keys), slices].map(|part| {
            part.map(|(expr, of)| (expr, of.into_iter().map(|tensor| rebuild.map(tensor)).collect::<Vec<_>>()))
        });
        rebuild.append(statement, |builder| {
            let keys = keys.map(|part| computed(builder, part)).expect("a reduction has keys");
            let slices = slices.map(|part| computed(builder, part));
            let [places, count] = [self.place, self.key].map(|axis| self.expr.axes[axis].extent);
            let rows = Rows { keys, rows, places, count };
            let (found, dimensions) = self.found(builder, &rows, slices, &others);
            self.arranged(builder, found, &dimensions)
        });
    }

    /// The keys at the points of all axes. Where what moved or computed them shows that fewer axes decide, they are computed again.
    fn keys(&self, program: &TensorProgram, operands: &[TensorId]) -> (TensorExpr, Vec<TensorId>) {
        let all: Vec<AxisId> = self.expr.axes.ids().collect();
        let own = part(&self.expr, &self.named, &all, operands);
        let (mut expr, mut operands) = own.clone();
        while let Some(next) =
            with_producer(program, &expr, &operands).filter(|(expr, _)| expr.reads.len() <= MOST_READS)
        {
            (expr, operands) = next;
        }
        let axes = |expr: &TensorExpr| -> BTreeSet<AxisId> { axes_of(expr, &expr.body) };
        if axes(&expr).len() < axes(&own.0).len() && axes(&expr).contains(&self.key) { (expr, operands) } else { own }
    }

    /// Appends what is found, and tells the axes of its dimensions.
    fn found(
        &self,
        builder: &mut ProgramBuilder,
        rows: &Rows,
        slices: Option<TensorId>,
        others: &[AxisId],
    ) -> (TensorId, Vec<AxisId>) {
        let own = [&rows.rows[..], &[self.place]].concat();
        match (&self.wanted, slices) {
            (Wanted::Combined(reducer, _), Some(slices)) => {
                let dimensions = [&own[..], others].concat();
                let shape: Vec<usize> = dimensions.iter().map(|&axis| self.expr.axes[axis].extent).collect();
                let table = TensorType::new(self.expr.body_element(), shape);
                let found = keyed_sums::scatter(builder, &table, rows.rows.len(), *reducer, [slices, rows.keys]);
                (found, dimensions)
            }
            (Wanted::Below, _) => (rows.below(builder), own),
            (Wanted::Last | Wanted::Combined(..), _) => (rows.last(builder), own),
        }
    }

    /// Appends what was found, whose dimensions are of these axes, as the expression stores it.
    fn arranged(&self, builder: &mut ProgramBuilder, found: TensorId, dimensions: &[AxisId]) -> TensorId {
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&self.expr.output().shape);
        let operand = expr.operand(builder.ty(found));
        let index = dimensions.iter().map(|axis| Index::axis(axes[axis.index()])).collect();
        let value = expr.read(operand, index);
        let body = match &self.expr.epilogue {
            None => value,
            Some(epilogue) => epilogue.map_leaves(&mut |leaf| match leaf {
                Scalar::Reduced => value.clone(),
                other => other.clone(),
            }),
        };
        computed(builder, (expr.map(self.expr.element, body), vec![found]))
    }
}

impl Rows {
    /// The axes of a new expression over the rows and so many points.
    fn axes(&self, builder: &ProgramBuilder, expr: &mut ExprBuilder, points: usize) -> Vec<Index> {
        let rows = &builder.ty(self.keys).shape[..self.rows.len()];
        expr.parallels(&[rows, &[points]].concat()).into_iter().map(Index::axis).collect()
    }

    fn with_last(own: &[Index], last: Index) -> Vec<Index> {
        own[..own.len() - 1].iter().cloned().chain([last]).collect()
    }

    /// Appends how many keys are below each place.
    fn below(&self, builder: &mut ProgramBuilder) -> TensorId {
        let [_, stands] = self.joined(builder);
        let mut expr = ExprBuilder::new();
        let own = self.axes(builder, &mut expr, self.places);
        let operand = expr.operand(builder.ty(stands));
        let stands_at = expr.read(operand, own.clone()).cast(ElementType::I64, KEY);
        let place = Scalar::Index(own[self.rows.len()].clone(), KEY);
        builder.compute(expr.map(KEY, stands_at.binary(BinaryOp::Subtract, place)), &[stands])
    }

    /// Appends the number of the last key that is equal to each place, or −1: it stands before the next place.
    fn last(&self, builder: &mut ProgramBuilder) -> TensorId {
        let [order, stands] = self.joined(builder);
        let mut expr = ExprBuilder::new();
        let own = self.axes(builder, &mut expr, self.places);
        let operand = expr.operand(builder.ty(stands));
        let next = expr.read(operand, Self::with_last(&own, own[self.rows.len()].plus(1)));
        let one = Scalar::Literal(Literal::integer(ElementType::I64, 1));
        let before = expr.map(ElementType::I64, next.binary(BinaryOp::Subtract, one));
        let before = builder.compute(before, &[stands]);
        let mut expr = ExprBuilder::new();
        let own = self.axes(builder, &mut expr, self.places);
        let [before_at, order_at] = [before, order].map(|tensor| expr.operand(builder.ty(tensor)));
        let before_read = expr.read(before_at, own.clone());
        let stands = expr.indirect(&before_read, self.marks() + self.count);
        let found = expr.read(order_at, Self::with_last(&own, stands)).cast(ElementType::I64, KEY);
        let first = Scalar::Literal(Literal::integer(KEY, self.marks() as i64));
        let number = found.clone().binary(BinaryOp::Subtract, first.clone());
        let none = Scalar::literal(KEY, -1.0);
        let body = found.binary(BinaryOp::Less, first).select(none, number);
        builder.compute(expr.map(KEY, body), &[before, order])
    }

    /// How many places are sorted: those that there are, and one more before the keys that are above all.
    fn marks(&self) -> usize {
        self.places + 1
    }

    /// Appends places and keys, in this order, sorted together: the order, and where in it each of them stands.
    fn joined(&self, builder: &mut ProgramBuilder) -> [TensorId; 2] {
        let mut expr = ExprBuilder::new();
        let all = self.axes(builder, &mut expr, self.marks() + self.count);
        let at = &all[self.rows.len()];
        let own = Scalar::Index(at.clone(), KEY);
        let behind = at.plus(-(self.marks() as i64));
        let guard = expr.guard(Guard::always(), behind.clone(), 0, self.count as i64);
        let operand = expr.operand(builder.ty(self.keys));
        let index = Self::with_last(&all, behind);
        let key = expr.guarded_read(operand, index, guard, Literal::integer(KEY, 0));
        let marks = Scalar::Literal(Literal::integer(KEY, self.marks() as i64));
        let is_place = own.clone().binary(BinaryOp::Less, marks);
        let joined = builder.compute(expr.map(KEY, is_place.select(own, key)), &[self.keys]);
        let order = ordering::by_keys(builder, vec![joined], Direction::Ascending);
        let numbers = compose::cast(builder, order, KEY);
        [order, ordering::by_keys(builder, vec![numbers], Direction::Ascending)]
    }
}

/// A scalar of an expression over some of its axes, with the operands that it reads.
fn part(expr: &TensorExpr, scalar: &Scalar, axes: &[AxisId], operands: &[TensorId]) -> (TensorExpr, Vec<TensorId>) {
    merge_operands(&alone(expr, scalar.clone(), axes), operands)
}

/// An expression with one of its operands computed where it is read; `None` if no statement without reduction defines one.
fn with_producer(
    program: &TensorProgram,
    expr: &TensorExpr,
    operands: &[TensorId],
) -> Option<(TensorExpr, Vec<TensorId>)> {
    operands.iter().enumerate().find_map(|(position, &operand)| {
        let statement = &program.statements[program.producer(operand)?];
        let Definition::Compute(producer) = &statement.definition else { return None };
        let inlined = substitute::inline(expr, position, producer)?;
        let mut all = operands.to_vec();
        all.remove(position);
        all.extend(&statement.operands);
        Some(merge_operands(&inlined, &all))
    })
}

/// Appends an expression, unless it is one of its operands.
fn computed(builder: &mut ProgramBuilder, (expr, operands): (TensorExpr, Vec<TensorId>)) -> TensorId {
    match identity(&expr) {
        Some(same) => operands[same],
        None => builder.compute(expr, &operands),
    }
}
