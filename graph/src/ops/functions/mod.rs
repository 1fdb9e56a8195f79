//! Functions of one number.

pub(in crate::ops) mod hyperbolic;

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atanh;
pub mod ceil;
pub mod cos;
pub mod cosh;
pub mod erf;
pub mod exp;
pub mod floor;
pub mod is_inf;
pub mod is_nan;
pub mod log;
pub mod neg;
pub mod reciprocal;
pub mod round;
pub mod sign;
pub mod sin;
pub mod sinh;
pub mod sqrt;
pub mod tan;
pub mod tanh;
