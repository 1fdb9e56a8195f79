//! Planning many rTasks takes seconds.

use std::time::{Duration, Instant};

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::policy::SyncPolicy;
use warpweave::plan::verify::verify;
use warpweave_tests::pipeline::{self, plan_under};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::{Suite, is_full};

const ROWS: usize = 16_384;

/// Adds the trial: a chain of row-wise operators, an rTask a row or a few.
pub fn add(suite: &mut Suite) {
    suite.trial("many rTasks", || {
        let (tasks, seconds) = if is_full() { (1_000_000, 20) } else { (40_000, 10) };
        let mut layers = 2;
        let (mut planned, mut elapsed) = plan(layers);
        while planned.plan.persistent().tasks() < tasks {
            layers = (layers * tasks).div_ceil(planned.plan.persistent().tasks());
            (planned, elapsed) = plan(layers);
        }
        let found = planned.plan.persistent().tasks();
        eprintln!("{found} rTasks planned in {elapsed:.1?}, {} waits", planned.plan.persistent().waits());
        assert!(elapsed < Duration::from_secs(seconds), "{found} rTasks took {elapsed:?}");
        verify(planned.plan).unwrap_or_else(|violations| panic!("the plan has {violations:?}"));
    });
}

fn plan(layers: usize) -> (warpweave::fusion::schedule::options::Planned, Duration) {
    let mut sketch = Sketch::new(1);
    let mut value = sketch.input(&[ROWS, 600]);
    for _ in 0..layers {
        value = sketch.softmax(value);
    }
    let program = sketch.finish(&[value]);
    let start = Instant::now();
    let options = PlanOptions { sync: Some(SyncPolicy::TILE), ..pipeline::options(132) };
    let (_, planned) = plan_under(&program, FusionLevel::Register, &options);
    (planned, start.elapsed())
}
