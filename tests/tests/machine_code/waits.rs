//! A plan without one of its waits: where that does harm, point by point, the verifier refuses it and its lack shows.

use std::collections::BTreeMap;

use warpweave::codegen::print::UnitSize;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::plan::streams::waits::{PlannedWait, waits, without};
use warpweave::plan::verify::verify;
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::session::Session;
use warpweave::runtime::target::Target;
use warpweave_tests::closure::accesses::{Accesses, Reads};
use warpweave_tests::closure::judge::{Verdict, judge};
use warpweave_tests::execute::Executable;
use warpweave_tests::gates;
use warpweave_tests::pipeline::compile;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::{Suite, is_full};

const UNITS: usize = 4;
/// Seeds of weak memory under which the lack may show where it does not in one order.
const SEEDS: u64 = 6;
/// The most waits of a program that the default run leaves out.
const MOST: usize = 8;

/// A trial a sample that waits.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("{} without its waits", sample.name), move || {
            let compiled = compile(&sample.program, UNITS, FusionLevel::None);
            let compiler = gates::compiler().expect("NVRTC is there: run scripts/fetch_cuda.sh");
            let executable = Executable::new(&compiled, UnitSize::default(), Target::Sm90a, compiler.as_ref());
            let inputs = random::inputs(&mut Random::new(5), &compiled.program);
            let mut session = executable.session(None, ExecuteOptions::default());
            let expected = session.run(&inputs).unwrap_or_else(|error| panic!("{error}"));
            let plan = executable.plan();
            let accesses = Accesses::new(plan, Reads::Points);
            let does_harm = |wait: &PlannedWait| {
                let lacking = without(plan, *wait);
                matches!(judge(&lacking, &accesses), Verdict::Harmful(_))
                    .then(|| assert!(verify(lacking).is_err()))
                    .is_some()
            };
            let needed: Vec<PlannedWait> = waits(plan.persistent()).filter(does_harm).collect();
            let stride = if is_full() { 1 } else { needed.len().div_ceil(MOST).max(1) };
            let mut missed = BTreeMap::new();
            for wait in needed.into_iter().step_by(stride) {
                let tables = executable.tables(&without(plan, wait));
                let shows = |(weak, starved): (Option<u64>, u32)| {
                    let execute = ExecuteOptions { weak, starved: Some(starved), ..ExecuteOptions::default() };
                    let mut session = executable.session(None, execute);
                    session.set_streams(&tables);
                    session.run(&inputs).map_or(true, |outputs| outputs != expected)
                };
                let seeds = [None].into_iter().chain((0..SEEDS).map(Some));
                let mut orders = seeds.flat_map(|seed| (0..UNITS as u32).map(move |starved| (seed, starved)));
                if !orders.any(shows) {
                    missed.insert((wait.unit, wait.position), verify(without(plan, wait)).err());
                }
            }
            assert!(missed.is_empty(), "the lack of these waits does not show: {missed:#?}");
        });
    }
}
