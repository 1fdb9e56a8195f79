//! Tuning with a measurement that is made up, and kernels' own programs on the emulator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use warpweave::frontend::ImportOptions;
use warpweave_fusion::cost::KernelCost;
use warpweave_fusion::cost::PricedKernel;
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::recorded::RecordedCost;
use warpweave_fusion::cost::timings::{Machine, Timings, Version};
use warpweave_fusion::partition::search::{FusionGroup, FusionLevel, Partition};
use warpweave_graph::Tensor;
use warpweave_graph::reference::evaluate;
use warpweave_plan::body::signature::Signature;
use warpweave_plan::kernel::ScheduleParams;
use warpweave_runtime::session::{Device, Kernels, OpenOptions, open_kernels, pack_program};
use warpweave_runtime::target::Target;

use super::{FIRST_RUNS, Measure, Outcome, Refused, Untimed, excess, tune, untimed};
use warpweave::KernelProgram;
use warpweave::Model;
use warpweave::OpenError;
use warpweave::architecture;
use warpweave::prices::of_target;
use warpweave::random_inputs;
use warpweave_fusion::partition::search::partition;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::{PreparedProgram, prepare};

fn estimate() -> EstimatedCost {
    EstimatedCost { arch: GpuArch::h200() }
}

fn prepared(name: &str) -> (PreparedProgram, Partition) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name).join("torchscript.onnx");
    let model = Model::import(&path, &ImportOptions::default()).expect("the model imports");
    let prepared = prepare(&model.program);
    let options = PlanOptions::gpu(&of_target(Target::Sm90a));
    let partition = partition(&prepared, &*options.cost, FusionLevel::Register);
    (prepared, partition)
}

fn machine() -> Machine {
    let version = Version { major: 13, minor: 0 };
    Machine { architecture: architecture(Target::Sm90a), driver: version, compiler: version }
}

/// What a measurement is of.
type Measured = (Signature, ScheduleParams);

fn measured(untimed: &Untimed, candidate: &PricedKernel) -> Measured {
    (untimed.signature.clone(), candidate.kernel.params().clone())
}

/// A measurement whose times follow from the kernel alone.
#[derive(Default)]
struct Fake {
    runs: BTreeMap<Measured, Vec<u32>>,
    wrong: BTreeSet<Measured>,
}

fn kernel(group: &FusionGroup) -> Measured {
    (Signature::of(group.kernel.body()), group.kernel.params().clone())
}

/// Between 1 and 2 microseconds.
fn time((signature, params): &Measured) -> f64 {
    let text: Signature = format!("{signature} {params}").parse().expect("a line is a signature");
    1.0 + (text.hash() >> 11) as f64 / (1u64 << 53) as f64
}

impl Measure for Fake {
    fn measure(&mut self, group: &FusionGroup, runs: u32) -> Result<Outcome, OpenError> {
        let kernel = kernel(group);
        self.runs.entry(kernel.clone()).or_default().push(runs);
        Ok(if self.wrong.contains(&kernel) {
            Outcome::Wrong { excess: 7.0 }
        } else {
            // The first runs of a kernel are slower, all alike.
            Outcome::Time { microseconds: time(&kernel) * (1.0 + 1.0 / f64::from(runs)) }
        })
    }
}

fn kernels(work: &[Untimed]) -> Vec<Measured> {
    let of_group = |untimed: &Untimed| -> Vec<Measured> {
        untimed.candidates.iter().map(|candidate| measured(untimed, candidate)).collect()
    };
    work.iter().flat_map(of_group).collect()
}

fn run(work: &[Untimed], timings: &mut Timings, fake: &mut Fake, groups: usize) -> super::TuneReport {
    let kept = std::cell::Cell::new(0);
    let mut keep = |_: &Timings| -> Result<(), OpenError> {
        kept.set(kept.get() + 1);
        Ok(())
    };
    tune(work, &machine(), timings, fake, &|| kept.get() >= groups, &mut keep).expect("the fake never fails")
}

#[test]
fn halving_finds_the_fastest_and_measures_it_most() {
    let (prepared, partition) = prepared("resnet_bottleneck");
    let mut timings = Timings::default();
    let work = untimed(&prepared.program, [&partition], &estimate(), &timings, &machine());
    let mut fake = Fake::default();
    let report = run(&work, &mut timings, &mut fake, usize::MAX);
    assert_eq!((report.recorded, report.left), (kernels(&work).len(), 0));
    assert_eq!(timings.records.len(), report.recorded);
    let recorded = RecordedCost::new(&timings, &machine().architecture, estimate()).expect("there are records");
    for untimed in &work {
        let times = untimed.candidates.iter().map(|candidate| measured(untimed, candidate));
        let fastest = times.min_by(|a, b| time(a).total_cmp(&time(b))).expect("there are candidates");
        let best = recorded.best(&prepared.program, untimed.group.kernel.shared_body()).expect("there is a kernel");
        assert_eq!(*best.kernel.params(), fastest.1);
        let doublings = usize::BITS - (untimed.candidates.len() - 1).leading_zeros();
        let expected: Vec<u32> = (0..=doublings).map(|round| FIRST_RUNS << round).collect();
        assert_eq!(fake.runs[&fastest], expected, "{} candidates", untimed.candidates.len());
        let once =
            untimed.candidates.iter().filter(|candidate| fake.runs[&measured(untimed, candidate)] == [FIRST_RUNS]);
        let slower = if expected.len() == 1 { 1 } else { untimed.candidates.len() / 2 };
        assert_eq!(once.count(), slower);
    }
}

#[test]
fn a_resumed_tuning_measures_nothing_twice() {
    let (prepared, partition) = prepared("resnet_bottleneck");
    let mut timings = Timings::default();
    let work =
        |timings: &Timings| untimed(&prepared.program, [&partition, &partition], &estimate(), timings, &machine());
    let all: BTreeSet<Measured> = kernels(&work(&timings)).into_iter().collect();
    let mut seen: BTreeSet<Measured> = BTreeSet::new();
    for _ in 0..100 {
        let left = work(&timings);
        if left.is_empty() {
            break;
        }
        let mut fake = Fake::default();
        let report = run(&left, &mut timings, &mut fake, 3);
        assert_eq!(report.recorded + report.left, kernels(&left).len());
        for kernel in fake.runs.into_keys() {
            assert!(seen.insert(kernel.clone()), "{} is measured twice", kernel.1);
        }
        timings = timings.to_string().parse().expect("what is printed is read");
    }
    assert_eq!(seen, all);
    let other = Machine { driver: Version { major: 14, minor: 0 }, ..machine() };
    let again = untimed(&prepared.program, [&partition], &estimate(), &timings, &other);
    assert_eq!(kernels(&again).len(), all.len(), "another driver has no times");
}

#[test]
fn what_is_wrong_is_refused() {
    let (prepared, partition) = prepared("dlrm");
    let mut timings = Timings::default();
    let work = untimed(&prepared.program, [&partition], &estimate(), &timings, &machine());
    // The fastest of every group gives wrong values.
    let fastest = |untimed: &Untimed| {
        let kernels = untimed.candidates.iter().map(|candidate| measured(untimed, candidate));
        kernels.min_by(|a, b| time(a).total_cmp(&time(b)))
    };
    let wrong: BTreeSet<Measured> = work.iter().filter_map(fastest).collect();
    let mut fake = Fake { wrong: wrong.clone(), ..Fake::default() };
    let report = run(&work, &mut timings, &mut fake, usize::MAX);
    let refused: BTreeSet<ScheduleParams> = report.refused.iter().map(|refused| refused.params.clone()).collect();
    assert_eq!(refused, wrong.iter().map(|(_, params)| params.clone()).collect());
    assert!(report.refused.iter().all(|Refused { outcome, .. }| *outcome == Outcome::Wrong { excess: 7.0 }));
    let recorded: BTreeSet<Measured> =
        timings.records.into_keys().map(|kernel| (kernel.signature, kernel.params)).collect();
    let right: BTreeSet<Measured> = kernels(&work).into_iter().filter(|kernel| !wrong.contains(kernel)).collect();
    assert_eq!(recorded, right);
}

#[test]
fn times_that_are_none_are_refused() {
    struct Broken(f64);
    impl Measure for Broken {
        fn measure(&mut self, _: &FusionGroup, _: u32) -> Result<Outcome, OpenError> {
            Ok(Outcome::Time { microseconds: self.0 })
        }
    }
    let (prepared, partition) = prepared("dlrm");
    for microseconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut timings = Timings::default();
        let work = untimed(&prepared.program, [&partition], &estimate(), &timings, &machine());
        let mut keep = |_: &Timings| -> Result<(), OpenError> { Ok(()) };
        let report = tune(&work, &machine(), &mut timings, &mut Broken(microseconds), &|| false, &mut keep);
        let report = report.expect("a broken time is no error");
        assert_eq!((report.recorded, report.refused.len()), (0, kernels(&work).len()));
        assert!(timings.records.is_empty());
    }
}

#[test]
fn every_group_runs_alone_and_gives_the_same_values() {
    for name in ["dlrm", "lstm"] {
        let (prepared, partition) = prepared(name);
        let work = untimed(&prepared.program, [&partition], &estimate(), &Timings::default(), &machine());
        for untimed in &work {
            let (first, last) = (untimed.candidates.first(), untimed.candidates.last());
            for candidate in first.into_iter().chain(last) {
                let group = FusionGroup { kernel: candidate.kernel.clone(), ..untimed.group.clone() };
                check_alone(&prepared, &group);
            }
        }
    }
}

fn check_alone(prepared: &PreparedProgram, group: &FusionGroup) {
    let kernel =
        KernelProgram::new(&prepared.program, group, &of_target(Target::Sm90a), 8).expect("the group has a kernel");
    let inputs = random_inputs(&kernel.signature, 3);
    let expected = evaluate(&kernel.program, &inputs).expect("the program is right");
    let weights =
        pack_program(&kernel.plan.plan.plan().memory, &kernel.program).expect("the program has its constants");
    let kernels = Kernels { target: Target::Sm90a, plan: kernel.plan, program: kernel.kernels };
    let session = open_kernels(kernels, weights, Device::Emulator, &OpenOptions::default());
    let found = session.expect("the emulator takes it").run(&inputs).expect("it runs");
    let right = excess(&found, &expected);
    assert!(right <= 1.0, "{}: {right}\n{}", group.kernel.params(), group.kernel.body());
    let moved = |tensor: &Tensor| {
        let elements: Vec<f64> = tensor.to_f64().into_iter().map(|element| element * 1.01 + 1.0).collect();
        Tensor::from_f64(tensor.ty().clone(), &elements)
    };
    let wrong: Vec<Tensor> = found.iter().map(moved).collect();
    assert!(excess(&wrong, &expected) > 1.0);
}
