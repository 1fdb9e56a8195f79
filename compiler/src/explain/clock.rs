//! What the times of a run are.

use crate::svg::scale::{digits, time};

/// Where the times of a run come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Microseconds that the cost model predicts.
    Predicted,
    /// Microseconds that a device's clock has measured.
    Measured,
    /// Steps of the emulator: instructions of warps, which say nothing of a device's time.
    Steps,
}

impl Clock {
    /// The words for what it gives.
    pub fn words(self) -> &'static str {
        match self {
            Self::Predicted => "predicted by the cost model, not measured",
            Self::Measured => "measured",
            Self::Steps => "steps of the emulator, not times of a device",
        }
    }

    /// The unit of every value.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Predicted | Self::Measured => "µs",
            Self::Steps => "steps",
        }
    }

    /// A value in [`Self::unit`], without it: microseconds with two decimals, steps with none.
    pub fn number(self, value: f64) -> String {
        match self {
            Self::Predicted | Self::Measured => format!("{value:.2}"),
            Self::Steps => format!("{value:.0}"),
        }
    }

    /// A value with the unit that suits its size.
    pub fn label(self, value: f64) -> String {
        match self {
            Self::Predicted | Self::Measured => time(value * 1e-6),
            Self::Steps => format!("{} steps", digits(value)),
        }
    }
}
