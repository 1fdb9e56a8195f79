use warpweave_fusion::cost::arch::Provenance;
use warpweave_fusion::cost::cpu::{CpuArch, CpuKind};

use super::{
    ProcessorProbe, ProcessorStopwatch, ProcessorTrial, Size, ThreadStopwatch, calibrate_processor, processor_base,
};
use warpweave::OpenError;
use warpweave_fusion::partition::search::partition;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::{Machine, PreparedProgram, Selection};
use warpweave_runtime::bundle::BundleTarget;

/// A processor whose trials take 5 µs and whose constants are three times those of another.
struct Made {
    trials: Vec<(ProcessorTrial, f64)>,
}

impl Made {
    fn of(arch: &CpuArch) -> Self {
        let mut trials = Vec::new();
        for probe in ProcessorProbe::ALL {
            for size in [Size::Small, Size::Large] {
                let work = probe.work(arch, size);
                let constant = 3.0 * probe.constant(&mut { *arch }).value;
                let rate = probe.value(work, 1.0) > probe.value(work, 2.0);
                let slope = if rate { work / constant } else { work * constant };
                trials.push((probe.trial(arch, size), 5.0 + slope));
            }
        }
        Self { trials }
    }
}

impl ProcessorStopwatch for Made {
    fn microseconds(&mut self, trial: &ProcessorTrial) -> Result<f64, OpenError> {
        let (_, microseconds) = self.trials.iter().find(|(other, _)| other == trial).expect("every trial is known");
        Ok(*microseconds)
    }
}

struct Still;

impl ProcessorStopwatch for Still {
    fn microseconds(&mut self, _: &ProcessorTrial) -> Result<f64, OpenError> {
        Ok(7.0)
    }
}

#[test]
fn slopes_give_the_constants_of_a_processor() {
    for kind in CpuKind::ALL {
        let base = CpuArch::of(kind);
        let calibration = calibrate_processor(base, &mut Made::of(&base)).expect("nothing fails");
        let mut arch = calibration.arch;
        assert!(arch.is_sound(), "{kind}");
        for (probe, reading) in ProcessorProbe::ALL.into_iter().zip(calibration.readings) {
            let now = reading.now.expect("every slope is above 0");
            assert!((now / reading.before - 3.0).abs() < 1e-6, "{reading:?}");
            let constant = *probe.constant(&mut arch);
            assert_eq!((constant.value, constant.provenance), (now, Provenance::Measured), "{}", probe.name());
        }
    }
}

#[test]
fn a_processor_that_is_no_slower_keeps_its_constants() {
    let base = CpuArch::avx512();
    let calibration = calibrate_processor(base, &mut Still).expect("nothing fails");
    assert_eq!(calibration.arch, base);
    assert!(calibration.readings.iter().all(|reading| reading.now.is_none()));
}

#[test]
fn programs_have_as_many_groups_as_they_are_meant_to() {
    let base = CpuArch::avx2();
    for (probe, expected) in
        [(ProcessorProbe::MultiplyAdds, 1), (ProcessorProbe::Operations, 24), (ProcessorProbe::Task, 256)]
    {
        let ProcessorTrial::Program(program, fusion) = probe.trial(&base, Size::Small) else {
            panic!("{probe:?} is measured with a program")
        };
        let options = PlanOptions::processor(base, BundleTarget::Host.units());
        let prepared = PreparedProgram::rewritten(&program, &Selection::default(), Machine::Processor);
        let groups = partition(&prepared.expect("the passes are right"), &*options.cost, fusion).groups;
        assert_eq!(groups.len(), expected, "{probe:?}");
    }
}

#[test]
fn this_machine_takes_the_times_of_trials() {
    let base = processor_base();
    assert!(base.is_sound());
    let trials = [
        ProcessorProbe::Task.trial(&base, Size::Small),
        ProcessorTrial::Stream { bytes: 1 << 16, rounds: 2 },
        ProcessorTrial::HandOvers(10),
        ProcessorTrial::WakeUps(10),
    ];
    for trial in trials {
        let time = ThreadStopwatch.microseconds(&trial).expect("the trial runs");
        assert!(time.is_finite() && time > 0.0, "{trial:?} takes {time} us");
    }
}
