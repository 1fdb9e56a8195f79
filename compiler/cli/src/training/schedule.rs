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
        let parts: Vec<&str> = text.split(':').collect();
        match *parts {
            ["constant"] => Ok(Self::Constant),
            ["linear"] => Ok(Self::Linear { end: 0.0 }),
            ["linear", end] => Ok(Self::Linear { end: number(end)? }),
            ["cosine"] => Ok(Self::Cosine { end: 0.0 }),
            ["cosine", end] => Ok(Self::Cosine { end: number(end)? }),
            ["step", every, factor] => Ok(Self::Step { every: steps(every)?, factor: number(factor)? }),
            _ => Err("expected constant, linear[:END], cosine[:END] or step:EVERY:FACTOR".to_owned()),
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|_| format!("`{text}` is no number"))?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(format!("`{text}` is not 0 or more")) }
}

fn steps(text: &str) -> Result<u64, String> {
    let steps = text.parse().ok().filter(|steps| *steps >= 1);
    steps.ok_or_else(|| format!("`{text}` is no number of steps; give a whole number from 1"))
}
