//! Costs by recorded times.

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::recorded::RecordedCost;
use warpweave_fusion::cost::timings::{Architecture, Machine, TimedKernel, Timing, Timings, Version};
use warpweave_fusion::cost::{KernelCost, PricedKernel};
use warpweave_fusion::partition::search::{FusionLevel, Partition, partition};
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer};
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::{ProgramBuilder, TensorProgram};
use warpweave_graph::types::{ElementType, TensorType};
use warpweave_graph::views::{inline_views, place_concats};
use warpweave_plan::body::GroupBody;
use warpweave_plan::body::signature::Signature;

fn estimate() -> EstimatedCost {
    EstimatedCost { arch: GpuArch::h200() }
}

/// Two matrix products of different sizes that do not depend on each other.
fn products() -> (TensorProgram, Partition) {
    let mut program = ProgramBuilder::new();
    let mut outputs = Vec::new();
    for (rows, columns, inner) in [(256, 512, 128), (64, 64, 2048)] {
        let tensor = |a: usize, b: usize| TensorType::new(ElementType::F32, vec![a, b]);
        let (left, right) = (program.input(tensor(rows, inner)), program.input(tensor(inner, columns)));
        let mut expr = ExprBuilder::new();
        let (row, column, along) = (expr.parallel(rows), expr.parallel(columns), expr.reduced(inner));
        let (x, w) = (expr.operand(&tensor(rows, inner)), expr.operand(&tensor(inner, columns)));
        let x = expr.read(x, vec![Index::axis(row), Index::axis(along)]);
        let w = expr.read(w, vec![Index::axis(along), Index::axis(column)]);
        let product = expr.reduce(ElementType::F32, Reducer::Sum, x.binary(BinaryOp::Multiply, w), None);
        outputs.push(program.compute(product, &[left, right]));
    }
    let (program, layouts) = place_concats(&inline_views(&program.finish(outputs)));
    let prepared = PreparedProgram { program, layouts };
    let partition = partition(&prepared, &estimate(), FusionLevel::Register);
    assert_eq!(partition.groups.len(), 2);
    (prepared.program, partition)
}

fn machine(architecture: &str, driver: u32) -> Machine {
    Machine {
        architecture: architecture.parse().expect("a name"),
        driver: Version { major: driver, minor: 0 },
        compiler: Version { major: 13, minor: 0 },
    }
}

fn record(timings: &mut Timings, machine: Machine, choice: &PricedKernel, measured: f64) {
    let (signature, params) = (Signature::of(choice.kernel.body()), choice.kernel.params().clone());
    let kernel = TimedKernel { machine, signature, params };
    timings.records.insert(kernel, Timing { measured, estimated: choice.microseconds });
}

fn sm_90a() -> Architecture {
    machine("sm_90a", 0).architecture
}

#[test]
fn the_kernel_with_the_shortest_recorded_time_is_chosen() {
    let (program, partition) = products();
    let body = partition.groups[0].kernel.shared_body();
    let choices = estimate().choices(&program, body);
    assert!(choices.len() > 4, "there is something to choose from");
    for fastest in 0..choices.len() {
        let mut timings = Timings::default();
        for (position, choice) in choices.iter().enumerate() {
            let measured = if position == fastest { 1.25 } else { 9.0 };
            record(&mut timings, machine("sm_90a", 13), choice, measured);
        }
        let recorded = RecordedCost::new(&timings, &sm_90a(), estimate()).expect("there are records");
        assert_eq!(
            recorded.best(&program, body),
            Some(PricedKernel { microseconds: 1.25, ..choices[fastest].clone() })
        );
    }
}

#[test]
fn kernels_without_a_time_cost_scaled_estimates() {
    let (program, partition) = products();
    let [first, second] = [0, 1].map(|group: usize| partition.groups[group].kernel.shared_body());
    let choices = estimate().choices(&program, first);
    let mut timings = Timings::default();
    for (choice, factor) in choices.iter().zip([2.0, 3.0, 50.0]) {
        record(&mut timings, machine("sm_90a", 13), choice, choice.microseconds * factor);
    }
    let of_second = &estimate().choices(&program, second)[0];
    record(&mut timings, machine("sm_90a", 13), of_second, of_second.microseconds * 5.0);
    let recorded = RecordedCost::new(&timings, &sm_90a(), estimate()).expect("there are records");
    let check = |PricedKernel { kernel, microseconds }: &PricedKernel, factor: f64| {
        let found = recorded.microseconds(&program, kernel);
        assert!((found - microseconds * factor).abs() < 1e-9 * found, "{found} for {kernel} times {factor}");
        let task = recorded.task_microseconds(kernel);
        let estimated = estimate().task_microseconds(kernel);
        assert!((task - estimated * factor).abs() < 1e-9 * task);
    };
    check(&choices[0], 2.0);
    check(&choices[3], 3.0);
    check(&estimate().choices(&program, second)[1], 5.0);
    // Of the ratios 2, 3, 5 and 50, for a body without a record.
    let mut other = GroupBody::clone(second);
    other.stages[0].output.as_mut().expect("it leaves").index.reverse();
    check(&estimate().choices(&program, &other.into())[0], 3.0);
}

#[test]
fn the_newest_driver_of_the_architecture_decides() {
    let (program, partition) = products();
    let body = partition.groups[0].kernel.shared_body();
    let choice = &estimate().choices(&program, body)[0];
    let mut timings = Timings::default();
    for (architecture, driver, measured) in [("sm_90a", 9, 4.0), ("sm_90a", 12, 7.0), ("sm_80", 13, 2.0)] {
        record(&mut timings, machine(architecture, driver), choice, measured);
    }
    let recorded = RecordedCost::new(&timings, &sm_90a(), estimate()).expect("there are records");
    assert!((recorded.microseconds(&program, &choice.kernel) - 7.0).abs() < f64::EPSILON);
    assert!(RecordedCost::new(&timings, &machine("sm_100", 0).architecture, estimate()).is_none());
}

#[test]
fn signatures_tell_problems_apart_and_nothing_else() {
    let (_, partition) = products();
    let [first, second] = [partition.groups[0].kernel.body(), partition.groups[1].kernel.body()];
    assert_ne!(Signature::of(first), Signature::of(second));
    let mut renamed = GroupBody::clone(first);
    renamed.operands.clone_from(&second.operands);
    renamed.outputs.clone_from(&second.outputs);
    assert_eq!(Signature::of(first), Signature::of(&renamed));
    assert_eq!(Signature::of(first).hash(), Signature::of(&renamed).hash());
}
