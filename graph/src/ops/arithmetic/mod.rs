//! Arithmetic on several numbers, on bits, and between types.

pub(in crate::ops) mod conversion;

pub mod add;
pub mod bit_cast;
pub mod bit_shift;
pub mod bitwise_and;
pub mod bitwise_not;
pub mod bitwise_or;
pub mod bitwise_xor;
pub mod cast;
pub mod cast_like;
pub mod clip;
pub mod div;
pub mod max;
pub mod mean;
pub mod min;
pub mod modulo;
pub mod mul;
pub mod pow;
pub mod sub;
pub mod sum;
