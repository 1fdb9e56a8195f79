//! Evaluation of opaque statements: the values that a procedure takes, then the procedure itself.

use super::ReferenceError;
use super::expression::{self, Evaluated, Faults};
use super::values::Values;
use crate::expr::{IndirectIndex, TensorExpr};
use crate::procedure::sort::{self, Keys};
use crate::procedure::suppress;
use crate::procedure::{Along, Opaque, Procedure};

/// The value of an opaque statement over its operands' values, and the elements of them that name no place.
pub(super) fn evaluate(opaque: &Opaque, operands: &[&Values]) -> Result<Evaluated, ReferenceError> {
    let access = &opaque.access;
    let length = Opaque::row(access);
    if access.output().shape.elements() == 0 {
        return Ok((Values::zeros(access.element, 0), Faults::new()));
    }
    match opaque.procedure {
        Procedure::Sort(direction) => {
            let (keys, faults) = values(access, Along::Each, operands)?;
            let rows: Vec<Keys> = match keys {
                Values::Float(values) => values.chunks(length).map(|row| Keys::Float(row.to_vec())).collect(),
                Values::Integer(values) => values.chunks(length).map(|row| Keys::Integer(row.to_vec())).collect(),
            };
            let element = access.body_element();
            let places = rows.iter().flat_map(|row| sort::places(element, row, direction)).collect();
            Ok((Values::Integer(places), faults))
        }
        Procedure::Suppress { most } => {
            let (itself, mut faults) = truths(access, Along::Both, operands)?;
            let mut stays = Vec::with_capacity(itself.len());
            for (row, itself) in itself.chunks(length).enumerate() {
                let by = |each| {
                    let (by, found) = truths(access, Along::Places { row, each }, operands)?;
                    for (place, fault) in found {
                        let first = faults.entry(place).or_insert(fault);
                        *first = fault.min(*first);
                    }
                    Ok::<_, ReferenceError>(by)
                };
                stays.extend(suppress::staying(itself, most, by)?.into_iter().map(i64::from));
            }
            Ok((Values::Integer(stays), faults))
        }
    }
}

/// The body's values, and the faults of the reads of the access expression.
fn values(access: &TensorExpr, along: Along, operands: &[&Values]) -> Result<Evaluated, ReferenceError> {
    let expr = Opaque::values(access, along);
    let (values, faults) = expression::evaluate(&expr, operands)?;
    // Reads of the access expression may be one read along a row.
    let known = access.indirect_indices();
    let own = |place: IndirectIndex| {
        let operand = expr.reads[place.read].operand;
        let same = |other: &&IndirectIndex| access.reads[other.read].operand == operand && other.extent == place.extent;
        *known.iter().find(same).expect("a place is one of the access expression")
    };
    let mut renamed = Faults::new();
    for (place, fault) in faults {
        let first = renamed.entry(own(place)).or_insert(fault);
        *first = fault.min(*first);
    }
    Ok((values, renamed))
}

/// The same where the values are truth values.
fn truths(access: &TensorExpr, along: Along, operands: &[&Values]) -> Result<(Vec<bool>, Faults), ReferenceError> {
    let (values, faults) = values(access, along, operands)?;
    let Values::Integer(values) = values else { unreachable!("truth values are integers") };
    Ok((values.into_iter().map(|value| value != 0).collect(), faults))
}
