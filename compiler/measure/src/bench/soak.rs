//! Many launches of one program on one set of inputs: each must give what the first one gave.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpweave_graph::Tensor;
use warpweave_runtime::session::{Session, SessionError};

use crate::tune::excess;

/// When a soak ends: at whichever comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoakLimit {
    /// Launches; at least one is made.
    pub launches: usize,
    /// Time.
    pub time: Duration,
}

/// What the launches of a soak gave.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Soak {
    /// Launches.
    pub launches: usize,
    /// Seconds that they took, copies and comparisons included.
    pub seconds: f64,
    /// Whether outputs were filled with NaN before each launch.
    pub is_spoiled: bool,
    /// Launches whose outputs have other bits than those of the first.
    pub different: usize,
    /// The number of the first of these, from 0.
    pub first_different: Option<usize>,
    /// The first launch beside another device's.
    pub against: Option<Against>,
}

/// Outputs beside those of another device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Against {
    pub device: String,
    /// The largest difference in multiples of what passes; none where only one of two elements is a number, or no elements are
    /// compared.
    pub excess: Option<f64>,
    /// The first output of another type than the other device's, with both types; no elements are compared then.
    #[serde(default)]
    pub mismatch: Option<String>,
}

impl Against {
    /// The outputs of a device beside those of another, of this name.
    pub fn new(found: &[Tensor], device: String, expected: &[Tensor]) -> Self {
        let excess = Some(excess(found, expected)).filter(|excess| excess.is_finite());
        Self { device, excess, mismatch: None }
    }

    /// Outputs of which one has another type than the other device's.
    pub fn mismatched(device: String, mismatch: String) -> Self {
        Self { device, excess: None, mismatch: Some(mismatch) }
    }

    /// Whether the outputs agree.
    pub fn agrees(&self) -> bool {
        self.excess.is_some_and(|excess| excess <= 1.0)
    }
}

impl Soak {
    /// Whether all launches gave the same, and the first what the other device gave.
    pub fn passed(&self) -> bool {
        self.different == 0 && self.against.as_ref().is_none_or(Against::agrees)
    }
}

/// Launches until the limit; gives what was found and the outputs of the first launch.
pub fn soak(
    session: &mut dyn Session,
    inputs: &[Tensor],
    limit: SoakLimit,
) -> Result<(Soak, Vec<Tensor>), SessionError> {
    let start = Instant::now();
    let mut is_spoiled = session.spoil_outputs()?;
    let first = session.run(inputs)?;
    let (mut launches, mut different, mut first_different) = (1, 0, None);
    while launches < limit.launches && start.elapsed() < limit.time {
        is_spoiled &= session.spoil_outputs()?;
        if !same_bits(&session.run(inputs)?, &first) {
            different += 1;
            first_different = first_different.or(Some(launches));
        }
        launches += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok((Soak { launches, seconds, is_spoiled, different, first_different, against: None }, first))
}

fn same_bits(one: &[Tensor], other: &[Tensor]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.bytes() == other.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one number, and another one in the launches that are listed.
    struct Flaky {
        launches: usize,
        wrong: Vec<usize>,
    }

    impl Session for Flaky {
        fn run(&mut self, _: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
            let value = if self.wrong.contains(&self.launches) { 1.0f32 } else { f32::NAN };
            self.launches += 1;
            Ok(vec![Tensor::scalar(value)])
        }
    }

    fn check(wrong: Vec<usize>, launches: usize, different: usize, first_different: Option<usize>) {
        let mut session = Flaky { launches: 0, wrong };
        let limit = SoakLimit { launches, time: Duration::from_secs(60) };
        let (soak, _) = soak(&mut session, &[], limit).expect("it runs");
        assert_eq!((soak.launches, soak.different, soak.first_different), (launches, different, first_different));
        assert_eq!((soak.is_spoiled, soak.passed()), (false, different == 0));
    }

    #[test]
    fn launches_that_differ_are_counted() {
        check(Vec::new(), 5, 0, None);
        check(vec![2, 4], 6, 2, Some(2));
        check(vec![0], 3, 2, Some(1));
    }

    #[test]
    fn the_time_ends_a_soak() {
        let mut session = Flaky { launches: 0, wrong: Vec::new() };
        let limit = SoakLimit { launches: usize::MAX, time: Duration::ZERO };
        assert_eq!(soak(&mut session, &[], limit).expect("it runs").0.launches, 1);
    }

    #[test]
    fn numbers_that_are_none_agree_with_none_alone() {
        let of = |value: f32| vec![Tensor::scalar(value)];
        let against = |found, expected| Against::new(&of(found), "host".to_owned(), &of(expected));
        assert!(against(1.0, 1.0).agrees() && against(f32::NAN, f32::NAN).agrees());
        assert!(!against(f32::NAN, 1.0).agrees() && against(f32::NAN, 1.0).excess.is_none());
        assert!(!against(1.1, 1.0).agrees());
    }
}
