//! Random numbers.

pub(in crate::ops) mod random;

pub mod bernoulli;
pub mod dropout;
pub mod multinomial;
pub mod random_normal;
pub mod random_normal_like;
pub mod random_uniform;
pub mod random_uniform_like;
