//! Sines, cosines and powers for tables of positions, from exactly rounded operations only: the same bits everywhere.

use std::f64::consts::TAU;

/// Terms of the series; the last is below 1e-20 for angles up to π.
const TERMS: u32 = 16;

/// Sine and cosine of an angle in radians.
pub(crate) fn sine_cosine(angle: f64) -> (f64, f64) {
    let angle = angle - (angle / TAU).round() * TAU;
    let square = angle * angle;
    let (mut sine, mut cosine) = (0.0, 0.0);
    let (mut odd, mut even) = (angle, 1.0);
    for term in 0..TERMS {
        sine += odd;
        cosine += even;
        let order = f64::from(2 * term + 1);
        even = -even * square / (order * (order + 1.0));
        odd = -odd * square / ((order + 1.0) * (order + 2.0));
    }
    (sine, cosine)
}

/// `base` to a power from 0 to below 1: the exponent's binary digits choose among repeated square roots.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    let (mut root, mut rest, mut result) = (base, exponent, 1.0);
    while rest > 0.0 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            result *= root;
            rest -= 1.0;
        }
    }
    result
}

/// The angles of a position: `position / base^(pair / pairs)` for every pair of features.
pub(crate) fn angles(position: usize, pairs: usize, base: f64) -> impl Iterator<Item = f64> {
    (0..pairs).map(move |pair| position as f64 / power(base, pair as f64 / pairs as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_agree_with_the_library() {
        for step in 0..4000 {
            let angle = f64::from(step) * 0.37;
            let (sine, cosine) = sine_cosine(angle);
            assert!((sine - angle.sin()).abs() < 1e-11, "{angle}");
            assert!((cosine - angle.cos()).abs() < 1e-11, "{angle}");
        }
        for step in 0..64 {
            let exponent = f64::from(step) / 64.0;
            let expected = 10_000f64.powf(exponent);
            assert!((power(10_000.0, exponent) - expected).abs() < 1e-9 * expected, "{exponent}");
        }
    }
}
