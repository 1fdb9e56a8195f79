//! How near values are to exact ones.

/// How near values are to exact ones.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// The largest difference over the largest exact value; infinite where only one of two values is a number.
    pub error: f64,
    /// Pearson's coefficient of the pairs that are finite; 1 where either side does not vary.
    pub correlation: f64,
}

impl Fit {
    /// Compares values with exact ones, pair by pair.
    pub fn of(found: &[f64], exact: &[f64]) -> Self {
        let pairs = found.iter().copied().zip(exact.iter().copied());
        let finite: Vec<(f64, f64)> =
            pairs.clone().filter(|(found, exact)| found.is_finite() && exact.is_finite()).collect();
        let most = pairs.map(|(found, exact)| difference(found, exact)).fold(0.0, f64::max);
        let error = if most == 0.0 { 0.0 } else { most / largest(exact) };
        Self { error, correlation: correlation(&finite) }
    }
}

/// The largest absolute value that is finite.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

fn difference(found: f64, exact: f64) -> f64 {
    match found == exact || (found.is_nan() && exact.is_nan()) {
        true => 0.0,
        false if found.is_finite() && exact.is_finite() => (found - exact).abs(),
        false => f64::INFINITY,
    }
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len().max(1) as f64;
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (first, second) = (sum(&|pair| pair.0) / count, sum(&|pair| pair.1) / count);
    let both = sum(&|pair| (pair.0 - first) * (pair.1 - second));
    let squares = sum(&|pair| (pair.0 - first).powi(2)) * sum(&|pair| (pair.1 - second).powi(2));
    if squares > 0.0 { both / squares.sqrt() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_a_share_of_the_largest_value() {
        let fit = Fit::of(&[1.0, 2.0, -3.5], &[1.0, 2.0, -4.0]);
        assert_eq!(fit.error, 0.125);
        assert!(fit.correlation > 0.99 && fit.correlation < 1.0);
    }

    #[test]
    fn a_value_that_overflows_is_infinitely_wrong() {
        assert_eq!(Fit::of(&[f64::INFINITY, 1.0], &[7e4, 1.0]).error, f64::INFINITY);
        assert_eq!(Fit::of(&[f64::NAN, 1.0], &[0.0, 1.0]).error, f64::INFINITY);
        assert_eq!(Fit::of(&[f64::NAN, f64::INFINITY], &[f64::NAN, f64::INFINITY]).error, 0.0);
    }

    #[test]
    fn correlation_sees_swapped_values_and_passes_constant_ones() {
        assert_eq!(Fit::of(&[2.0, 1.0], &[1.0, 2.0]).correlation, -1.0);
        assert_eq!(Fit::of(&[1.0, 2.0], &[1.0, 1.0]), Fit { error: 1.0, correlation: 1.0 });
        assert_eq!(Fit::of(&[], &[]), Fit { error: 0.0, correlation: 1.0 });
    }
}
