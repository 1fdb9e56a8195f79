//! How the learning rate changes from step to step.

use std::str::FromStr;

/// A learning rate's course over a number of steps.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Schedule {
    /// It stays.
    #[default]
    Constant,
    /// It falls evenly to a part of itself.
    Linear {
        /// What is left at the end.
        end: f64,
    },
    /// It falls as half a cosine to a part of itself.
    Cosine {
        /// What is left at the end.
        end: f64,
    },
    /// It is multiplied every so many steps.
    Step {
        /// How many.
        every: u64,
        /// By what.
        factor: f64,
    },
}

impl Schedule {
    /// What the learning rate is multiplied by at a step, from 0, of as many as there are.
    pub fn factor(self, step: u64, steps: u64) -> f64 {
        let part = step as f64 / steps.max(1) as f64;
        match self {
            Self::Constant => 1.0,
            Self::Linear { end } => 1.0 + (end - 1.0) * part,
            Self::Cosine { end } => end + (1.0 - end) * (1.0 + (std::f64::consts::PI * part).cos()) / 2.0,
            Self::Step { every, factor } => factor.powi((step / every.max(1)).min(i32::MAX as u64) as i32),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers = parts.map(|part| part.parse::<f64>().map_err(|_| format!("`{part}` is no number")));
        let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
        let proper = numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
        match (name, numbers.as_slice()) {
            _ if !proper => Err("numbers of a schedule are 0 or more".to_owned()),
            ("constant", []) => Ok(Self::Constant),
            ("linear", []) => Ok(Self::Linear { end: 0.0 }),
            ("linear", [end]) => Ok(Self::Linear { end: *end }),
            ("cosine", []) => Ok(Self::Cosine { end: 0.0 }),
            ("cosine", [end]) => Ok(Self::Cosine { end: *end }),
            ("step", [every, factor]) if *every >= 1.0 => Ok(Self::Step { every: *every as u64, factor: *factor }),
            _ => Err("expected constant, linear[:END], cosine[:END] or step:EVERY:FACTOR".to_owned()),
        }
    }
}
