//! What the scattering operators have in common.

use super::{Attribute, AttributeError, AttributeReader, compose};
use crate::expr::{BinaryOp, Literal, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ElementType;

/// Most pairs of an element and an update that are compared.
pub const MOST_PAIRS: usize = 1 << 36;

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

    /// The attribute.
    pub fn attribute(self) -> (&'static str, Attribute) {
        let name = Self::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name);
        ("reduction", Attribute::String(name.to_owned()))
    }
}

/// What is there and what the updates combine to, combined.
pub fn combined(program: &mut ProgramBuilder, reducer: Reducer, data: TensorId, updates: TensorId) -> TensorId {
    let element = program.ty(data).element;
    compose::map(program, [data, updates], element, |[x, y]| x.binary(reducer.op(), y))
}

/// `update` where it goes to a place, the identity of the reducer elsewhere.
pub fn contribution(element: ElementType, reducer: Reducer, goes_there: Scalar, update: Scalar) -> Scalar {
    goes_there.select(update, Scalar::Literal(reducer.identity(element)))
}

/// `number` where the update goes to a place, −1 elsewhere: the largest is the last update's.
pub fn last(goes_there: Scalar, number: Scalar) -> Scalar {
    goes_there.select(number, Scalar::literal(ElementType::I64, -1.0))
}

/// `update` where there is one, `number` not being −1, else `data`.
pub fn replaced(number: Scalar, update: Scalar, data: Scalar) -> Scalar {
    let absent = number.binary(BinaryOp::Less, Scalar::Literal(Literal::integer(ElementType::I64, 0)));
    absent.select(data, update)
}
