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

    /// A value with its unit.
    pub fn label(self, value: f64) -> String {
        match self {
            Self::Predicted | Self::Measured => time(value * 1e-6),
            Self::Steps => format!("{} steps", digits(value)),
        }
    }
}
