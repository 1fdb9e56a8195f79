use warpweave_fusion::cost::arch::{GpuArch, Provenance};
use warpweave_fusion::cost::edges::{Edge, EdgeTime, barrier_units};
use warpweave_fusion::cost::gpu::GpuProduct;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_graph::reference::evaluate;
use warpweave_graph::{ElementType, Tensor};

use super::{Probe, Size, Stopwatch, Trial, calibrate};
use crate::microbench::{EdgeReadings, FailedEdge};
use warpweave::OpenError;
use warpweave::compiler::kernels;
use warpweave::prices::of_target;
use warpweave_fusion::partition::search::partition;
use warpweave_fusion::schedule::choice::plan;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::prepare;
use warpweave_runtime::target::Target;

/// A device whose launches take 5 µs and whose constants are three times those of another.
struct Made {
    programs: Vec<(Trial, f64)>,
}

impl Made {
    fn of(arch: &GpuArch) -> Self {
        let mut programs = Vec::new();
        for probe in Probe::ALL {
            for size in [Size::Small, Size::Large] {
                let work = probe.work(arch, size);
                let mut arch = *arch;
                let constant = 3.0 * probe.constant(&mut arch).value;
                let slope = match probe {
                    Probe::Memory | Probe::Cache | Probe::Arithmetic => work / constant,
                    Probe::Latency => work * constant / arch.cycles_per_microsecond.value,
                    Probe::Step => work * constant,
                };
                programs.push((probe.trial(&arch, size), 5.0 + slope));
            }
        }
        Self { programs }
    }
}

impl Stopwatch for Made {
    fn microseconds(&mut self, trial: &Trial) -> Result<f64, OpenError> {
        let (_, microseconds) = self.programs.iter().find(|(other, _)| other == trial).expect("every trial is known");
        Ok(*microseconds)
    }

    fn edges(&mut self) -> EdgeReadings {
        let costs = SyncCosts::h200();
        let all = Edge::ALL.into_iter().filter(|edge| *edge != Edge::Barrier).map(|edge| (edge, Some(2)));
        let barriers = barrier_units(132).into_iter().map(|units| (Edge::Barrier, Some(units)));
        let time = |(edge, units): (Edge, Option<usize>)| EdgeTime {
            edge,
            units,
            microseconds: 3.0 * costs.edge_microseconds(edge, units).unwrap_or(1.0),
            predicted_microseconds: None,
        };
        EdgeReadings { times: all.chain(barriers).map(time).collect(), failed: Vec::new() }
    }
}

#[test]
fn slopes_give_the_constants_whatever_a_launch_takes() {
    let base = GpuProduct::H200.prices();
    let calibration = calibrate(base.clone(), &mut Made::of(&base.arch)).expect("nothing fails");
    assert_eq!(calibration.readings.len(), Probe::ALL.len() + 7);
    let (before, now) = (base.sync, calibration.arch.sync);
    assert!(now.assumptions().is_empty(), "all of it was measured: {:?}", now.assumptions());
    for (edge, units) in
        [(Edge::Signal, 2), (Edge::Barrier, 32), (Edge::Barrier, 132), (Edge::Drain, 2), (Edge::TaggedValue, 2)]
    {
        let [before, now] =
            [before, now].map(|costs| costs.edge_microseconds(edge, Some(units)).expect("it has a cost"));
        assert!((now / before - 3.0).abs() < 1e-6, "{edge:?}: {before}, {now}");
    }
    assert!((now.keep.value / before.keep.value - 3.0).abs() < 1e-6, "it follows from the bandwidth of memory");
    let mut arch = calibration.arch.arch;
    for (probe, reading) in Probe::ALL.into_iter().zip(calibration.readings) {
        let now = reading.now.expect("every slope is above 0");
        assert!((now / reading.before - 3.0).abs() < 1e-6, "{reading:?}");
        let constant = *probe.constant(&mut arch);
        assert_eq!((constant.value, constant.provenance), (now, Provenance::Measured));
    }
    assert_eq!(arch.cache_bytes, base.arch.cache_bytes);
    assert!(arch.is_sound());
}

#[test]
fn what_does_not_get_slower_measures_nothing() {
    struct Constant;
    impl Stopwatch for Constant {
        fn microseconds(&mut self, _: &Trial) -> Result<f64, OpenError> {
            Ok(7.0)
        }

        fn edges(&mut self) -> EdgeReadings {
            let failed = FailedEdge { edge: Edge::Signal, units: Some(2), reason: "it gave up".to_owned() };
            EdgeReadings { times: Vec::new(), failed: vec![failed] }
        }
    }
    let base = GpuProduct::H200.prices();
    let calibration = calibrate(base.clone(), &mut Constant).expect("nothing fails");
    assert_eq!(calibration.arch, base);
    assert_eq!(calibration.failed.len(), 1);
    assert!(calibration.readings.iter().all(|reading| reading.now.is_none()));
}

#[test]
fn probes_are_the_kernels_that_are_meant() {
    for probe in [Probe::Latency, Probe::Step] {
        let counts = [Size::Small, Size::Large].map(|size| {
            let Trial::Program(program, fusion) = probe.trial(&GpuArch::h200(), size) else {
                panic!("{probe:?} is measured with a program")
            };
            let options = PlanOptions::gpu(&of_target(Target::Sm90a));
            let prepared = prepare(&program);
            let partition = partition(&prepared, &*options.cost, fusion);
            let plan = plan(&prepared, &partition, &options).plan;
            kernels(&plan, &prepared.program).expect("the probe has kernels");
            partition.groups.len()
        });
        let expected = if probe == Probe::Step { [24, 48] } else { [1, 1] };
        assert_eq!(counts, expected, "{probe:?}");
    }
}

#[test]
fn the_chain_of_loads_walks_the_ring() {
    let Trial::Program(program, _) = Probe::Latency.trial(&GpuArch::h200(), Size::Small) else {
        panic!("loads are measured with a program")
    };
    let found = evaluate(&program, &[]).expect("it runs");
    let ty = found[0].ty().clone();
    assert_eq!(ty.element, ElementType::I64);
    assert_eq!(found, [Tensor::from_i64(ty, &[48 * 32])]);
}

#[test]
fn what_other_work_hides_is_measured_again() {
    let times = |readings: [[f64; 2]; 3]| {
        let mut next = readings.into_iter().flatten();
        super::least_times(|_| Ok(next.next().unwrap_or(20.0))).expect("nothing fails")
    };
    assert_eq!(times([[5.0, 10.0], [1.0, 1.0], [1.0, 1.0]]), [5.0, 10.0], "clear at once");
    assert_eq!(times([[9.0, 8.0], [7.0, 7.5], [4.0, 9.0]]), [4.0, 7.5], "the least of each, until it is clear");
    assert_eq!(times([[5.0, 4.0], [6.0, 6.0], [7.0, 5.0]]), [5.0, 4.0], "never slower");
}
