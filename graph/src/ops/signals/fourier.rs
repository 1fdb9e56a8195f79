//! Discrete Fourier transforms as products with a constant matrix.

use std::f64::consts::TAU;

use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// Longest transform, whose matrix has as many rows and columns.
pub const MOST_POINTS: usize = 1 << 12;

/// Which transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transform {
    /// Real or complex values to frequencies; the first ⌊n / 2⌋ + 1 of them if one-sided.
    Forward { one_sided: bool },
    /// Frequencies to complex values.
    Inverse,
    /// The first ⌊n / 2⌋ + 1 frequencies of real values to these.
    InverseToReal,
}

impl Transform {
    /// Results, of which there are these many for `points` values, and the numbers of each.
    pub fn results(self, points: usize) -> (usize, usize) {
        match self {
            Self::Forward { one_sided: true } => (points / 2 + 1, 2),
            Self::Forward { one_sided: false } | Self::Inverse => (points, 2),
            Self::InverseToReal => (points, 1),
        }
    }

    /// How many operands count for `points` values.
    pub fn operands(self, points: usize) -> usize {
        if self == Self::InverseToReal { points / 2 + 1 } else { points }
    }

    /// The matrix `[results, numbers of a result, operands, numbers of an operand]`; `components` of an operand are given.
    pub fn matrix(self, element: ElementType, points: usize, components: usize) -> Tensor {
        let ((results, numbers), operands) = (self.results(points), self.operands(points));
        let mut values = Vec::with_capacity(results * numbers * operands * components);
        for result in 0..results {
            for number in 0..numbers {
                for operand in 0..operands {
                    let (real, imaginary) = self.factor(points, result, operand);
                    // (real + i · imaginary) times (x + i · y), of which the first number is real.
                    let row = if number == 0 { [real, -imaginary] } else { [imaginary, real] };
                    values.extend_from_slice(&row[..components]);
                }
            }
        }
        Tensor::from_f64(TensorType::new(element, [results, numbers, operands, components]), &values)
    }

    /// What an operand is multiplied by for a result.
    fn factor(self, points: usize, result: usize, operand: usize) -> (f64, f64) {
        let angle = TAU * ((result * operand) % points) as f64 / points as f64;
        let (sine, cosine) = angle.sin_cos();
        let scale = 1.0 / points as f64;
        match self {
            Self::Forward { .. } => (cosine, -sine),
            Self::Inverse => (cosine * scale, sine * scale),
            Self::InverseToReal => {
                // A frequency that is not given is the conjugate of one that is.
                let alone = operand == 0 || 2 * operand == points;
                let times = if alone { scale } else { 2.0 * scale };
                (cosine * times, sine * times)
            }
        }
    }
}
