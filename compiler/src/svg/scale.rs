//! From values to coordinates, with ticks, and numbers for people.

/// A linear axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Linear {
    domain: (f64, f64),
    range: (f64, f64),
}

impl Linear {
    /// Maps `domain` to `range`. A domain without extent is widened around its value.
    pub fn new(domain: (f64, f64), range: (f64, f64)) -> Self {
        let (low, high) = domain;
        if high > low {
            return Self { domain, range };
        }
        let margin = if low == 0.0 { 1.0 } else { low.abs() * 0.01 };
        Self { domain: (low - margin, low + margin), range }
    }

    /// The coordinate of a value.
    pub fn at(&self, value: f64) -> f64 {
        let part = (value - self.domain.0) / (self.domain.1 - self.domain.0);
        self.range.0 + part * (self.range.1 - self.range.0)
    }

    /// Round values inside the domain, about `count` of them.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let step = nice_step((self.domain.1 - self.domain.0) / count.max(1) as f64);
        let first = (self.domain.0 / step).ceil() as i64;
        let last = (self.domain.1 / step).floor() as i64;
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    /// The coordinates of such values, each with as many decimals as tell it from its neighbours.
    pub fn labelled_ticks(&self, count: usize) -> Vec<(f64, String)> {
        let step = nice_step((self.domain.1 - self.domain.0) / count.max(1) as f64);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        self.ticks(count).into_iter().map(|tick| (self.at(tick), format!("{tick:.decimals$}"))).collect()
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `raw`.
pub fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= raw * 0.999);
    step.unwrap_or(10.0) * power
}

/// A logarithmic axis over whole decades.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Logarithmic {
    low: i32,
    axis: Linear,
    high: i32,
}

impl Logarithmic {
    /// Maps the decades around positive `values` to `range`; one decade if there are no values.
    pub fn new(values: impl Iterator<Item = f64>, range: (f64, f64)) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            low = low.min(value.log10());
            high = high.max(value.log10());
        }
        let (low, high) = if low > high { (0, 1) } else { (low.floor() as i32, high.ceil() as i32) };
        let high = high.max(low + 1);
        Self { low, axis: Linear::new((f64::from(low), f64::from(high)), range), high }
    }

    /// The coordinate of a positive value.
    pub fn at(&self, value: f64) -> f64 {
        self.axis.at(value.max(f64::MIN_POSITIVE).log10())
    }

    /// Smallest and largest value.
    pub fn domain(&self) -> (f64, f64) {
        (10f64.powi(self.low), 10f64.powi(self.high))
    }

    /// Powers of ten, at most about eight of them.
    pub fn ticks(&self) -> Vec<f64> {
        let step = usize::try_from((self.high - self.low) / 8 + 1).unwrap_or(1);
        (self.low..=self.high).step_by(step).map(|power| 10f64.powi(power)).collect()
    }
}

/// A number in about three digits, with a suffix for thousands.
pub fn short(value: f64) -> String {
    let (scaled, prefix) = scaled(value);
    format!("{scaled}{prefix}")
}

/// A number of bytes in about three digits, in kB, MB and so on.
pub fn bytes(count: f64) -> String {
    let (scaled, prefix) = scaled(count);
    format!("{scaled} {prefix}B")
}

/// About three digits of a number, and the prefix of the unit that they count.
fn scaled(value: f64) -> (String, &'static str) {
    let size = value.abs();
    let (scaled, prefix) = match size {
        _ if size >= 1e12 => (value / 1e12, "T"),
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    (digits(scaled), prefix)
}

/// A number in about three digits, without trailing zeros.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 || size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => (2 - size.log10().floor() as i32).clamp(2, 9) as usize,
    };
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// In which unit times up to `seconds` are shown: how many make a second, and its name.
pub fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        _ if seconds >= 1.0 => (1.0, "s"),
        _ if seconds >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "µs"),
    }
}

/// A time with its unit.
pub fn time(seconds: f64) -> String {
    let (factor, unit) = time_unit(seconds);
    format!("{} {unit}", digits(seconds * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Linear::new((0.13, 0.92), (0.0, 100.0));
        let ticks = axis.ticks(4);
        assert!(ticks.len() >= 2 && ticks.iter().all(|tick| (0.0..=100.0).contains(&axis.at(*tick))), "{ticks:?}");
        assert_eq!(nice_step(0.3), 0.5);
        assert_eq!(nice_step(7.0), 10.0);
    }

    #[test]
    fn degenerate_domains_stay_finite() {
        for value in [0.0, 3.0] {
            assert!(Linear::new((value, value), (0.0, 10.0)).at(value).is_finite());
        }
        let one = Logarithmic::new([1.0].into_iter(), (0.0, 10.0));
        assert!(one.at(1.0).is_finite() && one.at(0.0).is_finite());
        assert_eq!(Logarithmic::new([].into_iter(), (0.0, 1.0)).domain(), (1.0, 10.0));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(12_345_678.0), "12.3M");
        assert_eq!(short(0.0), "0");
        assert_eq!((bytes(393_216.0), bytes(640.0)), ("393 kB".to_owned(), "640 B".to_owned()));
        assert_eq!(digits(0.004_56), "0.00456");
        assert_eq!(digits(100.0), "100");
        assert_eq!(time(0.000_25), "250 µs");
    }
}
