//! What the scattering operators have in common.

use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// Most pairs of an element and an update that are compared.
const MOST_PAIRS: usize = 1 << 36;

/// The element type of the numbers of places and of updates, which are fewer than 2³¹.
pub const NUMBER: ElementType = ElementType::I32;

/// Whether so many places and updates, and pairs of an element and an update, are compared with one another.
pub fn can_be_compared(pairs: Option<usize>, extents: [usize; 2]) -> bool {
    let is_number = |&extent: &usize| i32::try_from(extent).is_ok();
    pairs.is_some_and(|pairs| pairs <= MOST_PAIRS) && extents.iter().all(is_number)
}

/// Most entries of a table of the updates that go to each place.
const MOST_ENTRIES: usize = 1 << 26;

/// How updates are combined with what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The last update replaces it.
    Replace,
    /// By a reducer.
    With(Reducer),
}

impl Combination {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Replace, "none"),
        (Self::With(Reducer::Sum), "add"),
        (Self::With(Reducer::Product), "mul"),
        (Self::With(Reducer::Maximum), "max"),
        (Self::With(Reducer::Minimum), "min"),
    ];

    /// Takes the attribute.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("reduction")?.unwrap_or_else(|| "none".to_owned());
        let known = Self::NAMES.iter().find(|(_, known)| *known == name).map(|(combination, _)| *combination);
        let reason = || format!("`{name}` is not one of none, add, mul, max and min");
        known.ok_or_else(|| AttributeError::Value { name: "reduction", reason: reason() })
    }

    pub fn attribute(self) -> (&'static str, Attribute) {
        let name = Self::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name);
        ("reduction", Attribute::String(name.to_owned()))
    }
}

/// Which updates go to each place, where that is known: `[places, most updates of one place]`, in order, −1 behind the last.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownUpdates(Tensor);

impl KnownUpdates {
    /// Of updates that go to the given places, those that count: where they replace what is there, the last.
    ///
    /// `None` if the table is too large.
    pub fn new(places: usize, goes_to: &[usize], combination: Combination) -> Option<Self> {
        if places > MOST_ENTRIES {
            return None;
        }
        let mut most = vec![0; places];
        goes_to.iter().for_each(|&place| most[place] += 1);
        let width = match combination {
            Combination::Replace => 1,
            Combination::With(_) => most.into_iter().max().unwrap_or(0).max(1),
        };
        places.checked_mul(width).filter(|&entries| entries <= MOST_ENTRIES)?;
        let (mut table, mut filled) = (vec![-1i32; places * width], vec![0; places]);
        for (update, &place) in goes_to.iter().enumerate() {
            table[place * width + filled[place]] = update as i32;
            filled[place] = (filled[place] + 1).min(width - 1);
        }
        Some(Self(Tensor::new([places, width], &table)))
    }

    /// `[places, slice]` elements, with those of `[updates, slice]` that go to each place.
    pub fn apply(self, program: &mut ProgramBuilder, combination: Combination, ids: [TensorId; 2]) -> TensorId {
        let [data, updates] = ids;
        let width = self.0.shape()[1];
        let table = program.constant(self.0);
        match combination {
            Combination::Replace => replace(program, data, updates, table),
            Combination::With(reducer) => {
                let ty: TensorType = program.ty(data).clone();
                let mut expr = ExprBuilder::new();
                let (place, inner) = (expr.parallel(ty.shape[0]), expr.parallel(ty.shape[1]));
                let entry = expr.reduced(width);
                let operand = expr.operand(program.ty(table));
                let number = expr.read(operand, vec![Index::axis(place), Index::axis(entry)]);
                let wide = ty.element.compute();
                let updates = compose::cast(program, updates, wide);
                let operand = expr.operand(program.ty(updates));
                let update = expr.indirect(&number, program.ty(updates).shape[0]);
                let value = expr.read(operand, vec![update, Index::axis(inner)]);
                let none = Scalar::Literal(reducer.identity(wide));
                let body = replaced(number, value, none);
                let total = program.compute(expr.reduce(wide, reducer, body, None), &[table, updates]);
                combined(program, reducer, data, total)
            }
        }
    }
}

/// Of `[places, slice]` elements and `[updates, slice]`, those of the update whose number `[places, 1]` says, −1 being none.
pub fn replace(program: &mut ProgramBuilder, data: TensorId, updates: TensorId, last: TensorId) -> TensorId {
    let ty: TensorType = program.ty(data).clone();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&ty.shape);
    let [place, inner] = [0, 1].map(|at| Index::axis(axes[at]));
    let operand = expr.operand(program.ty(last));
    let number = expr.read(operand, vec![place.clone(), Index::constant(0)]);
    let operand = expr.operand(&ty);
    let there = expr.read(operand, vec![place, inner.clone()]);
    let operand = expr.operand(program.ty(updates));
    let update = expr.indirect(&number, program.ty(updates).shape[0]);
    let value = expr.read(operand, vec![update, inner]);
    let body = replaced(number, value, there);
    program.compute(expr.map(ty.element, body), &[last, data, updates])
}

/// What is there and what the updates combine to, combined. Updates are of the type that they are combined in, and the result is
/// rounded to that of the data.
pub fn combined(program: &mut ProgramBuilder, reducer: Reducer, data: TensorId, updates: TensorId) -> TensorId {
    let [element, wide] = [data, updates].map(|tensor| program.ty(tensor).element);
    compose::map(program, [data, updates], element, |[x, y]| {
        x.cast(element, wide).binary(reducer.op(), y).cast(wide, element)
    })
}

/// `update` where it goes to a place, the identity of the reducer elsewhere.
pub fn contribution(element: ElementType, reducer: Reducer, goes_there: Scalar, update: Scalar) -> Scalar {
    goes_there.select(update, Scalar::Literal(reducer.identity(element)))
}

/// `number` where the update goes to a place, −1 elsewhere: the largest is the last update's.
pub fn last(goes_there: Scalar, number: Scalar) -> Scalar {
    goes_there.select(number, Scalar::literal(NUMBER, -1.0))
}

/// `update` where there is one, `number` not being −1, else `data`.
pub fn replaced(number: Scalar, update: Scalar, data: Scalar) -> Scalar {
    let absent = number.binary(BinaryOp::Less, Scalar::Literal(Literal::integer(NUMBER, 0)));
    absent.select(data, update)
}
