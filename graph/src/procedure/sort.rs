//! The stable order of a row's values.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::types::ElementType;
use crate::words;

/// Most values of a row: what it is padded to has 32-bit places.
pub const LONGEST_ROW: usize = 1 << 30;

/// Which values come first. NaN counts as the largest value, and both zeros as one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// The smallest.
    Ascending,
    /// The largest.
    Descending,
}

words!(Direction { Ascending => "ascending", Descending => "descending" });

/// The values of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Keys {
    /// Floating point.
    Float(Vec<f64>),
    /// Integers, and truth values as 0 and 1; 64-bit unsigned ones by their bits.
    Integer(Vec<i64>),
}

/// The places of a row's values in their order; of equal values the first comes first.
pub fn places(element: ElementType, keys: &Keys, direction: Direction) -> Vec<i64> {
    match keys {
        Keys::Float(values) => ordered(values.len(), direction, |x, y| float_order(values[x], values[y])),
        Keys::Integer(values) if element == ElementType::U64 => {
            ordered(values.len(), direction, |x, y| values[x].cast_unsigned().cmp(&values[y].cast_unsigned()))
        }
        Keys::Integer(values) => ordered(values.len(), direction, |x, y| values[x].cmp(&values[y])),
    }
}

fn ordered(count: usize, direction: Direction, order: impl Fn(usize, usize) -> Ordering) -> Vec<i64> {
    let mut places: Vec<i64> = (0..count as i64).collect();
    places.sort_by(|&x, &y| {
        let ascending = order(x as usize, y as usize);
        match direction {
            Direction::Ascending => ascending,
            Direction::Descending => ascending.reverse(),
        }
    });
    places
}

fn float_order(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}
