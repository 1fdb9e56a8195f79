//! Golden vectors: the thesis' model, and the corrected one by hand (`docs/deepcuts.md`).

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::bound::counts::Counts;
use warpweave_fusion::cost::bound::ratios::{combine, work_balance};
use warpweave_fusion::cost::bound::{BlockShape, BoundMode, InputExtent, LimitingFactor, OperandLevel, upper_bound};

use crate::operators::{Window, convolution, elementwise, matmul, shared};

const THESIS: BoundMode = BoundMode::Thesis(InputExtent::Exact);

#[track_caller]
fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

#[test]
fn thesis_vector_1_convolution() {
    let expr = convolution([1, 64, 64, 56, 56], Window::new(3, 1, 1), false);
    let shape = BlockShape::over_parallel(&expr, &[1, 32, 8, 8], &[1, 8, 2, 2], shared(&[16, 3, 3]));
    let arch = GpuArch::v100();
    let counts = Counts::of(&expr, &shape, &arch, THESIS);
    assert_eq!(counts.block_operations, 2_359_296);
    assert_eq!(counts.load_transactions, 3_584);
    assert_eq!(counts.store_transactions, 0);
    assert_eq!(counts.thread_operations, 36_864);
    assert_eq!(counts.thread_loads, 5_632);
    assert_eq!(counts.blocks, 98);
    assert_eq!(shape.threads(), 64);
    let bound = upper_bound(&expr, &shape, &arch, THESIS);
    near(counts.block_operations as f64 / (32.0 * counts.load_transactions as f64), 20.57, 0.005);
    near(bound.global_memory, 1.0, 0.0);
    near(bound.shared_memory, 0.3273, 5e-5);
    near(bound.work_balance, 0.6125, 5e-5);
    near(bound.fraction, 0.2005, 5e-5);
    assert_eq!(bound.limit, LimitingFactor::SharedMemory);
}

#[test]
fn thesis_vector_2_pointwise_convolution() {
    let expr = convolution([1, 256, 64, 56, 56], Window::new(1, 1, 0), false);
    let shape = BlockShape::over_parallel(&expr, &[1, 32, 8, 8], &[1, 8, 2, 2], shared(&[16, 1, 1]));
    let bound = upper_bound(&expr, &shape, &GpuArch::v100(), THESIS);
    near(bound.global_memory, 0.6857, 5e-5);
    near(bound.shared_memory, 0.2667, 5e-5);
    near(bound.fraction, 0.1120, 5e-5);
    let printed = upper_bound(&expr, &shape, &GpuArch::v100(), BoundMode::Thesis(InputExtent::Printed));
    near(printed.global_memory, 0.3429, 5e-5);
    near(printed.shared_memory, 0.1333, 5e-5);
    near(printed.fraction, 0.0280, 5e-5);
}

#[test]
fn thesis_vector_3_matmul() {
    let expr = matmul([512, 1024, 1024]);
    let shape = BlockShape::over_parallel(&expr, &[64, 64], &[8, 8], shared(&[16]));
    let counts = Counts::of(&expr, &shape, &GpuArch::v100(), THESIS);
    assert_eq!((counts.block_operations, counts.load_transactions, counts.blocks), (8_388_608, 16_384, 128));
    let bound = upper_bound(&expr, &shape, &GpuArch::v100(), THESIS);
    near(bound.shared_memory, 0.4, 1e-9);
    near(bound.work_balance, 0.8, 1e-9);
    near(bound.fraction, 0.32, 1e-9);
}

#[test]
fn the_ridge_of_the_v100_is_15_6() {
    near(GpuArch::v100().ridge_operations_per_byte(), 15.6, 0.05);
}

/// Erratum E6's table, 80 multiprocessors.
#[test]
fn work_balance_counts_filled_slots() {
    for (blocks, expected) in [(79, 0.9875), (80, 1.0), (81, 0.506), (120, 0.75), (161, 0.671)] {
        near(work_balance(blocks, 80), expected, 5e-4);
    }
    assert!((1..1000).all(|blocks| work_balance(blocks, 80) > 0.0 && work_balance(blocks, 80) <= 1.0));
}

/// Erratum E11: a residual adds its own 256 transactions to the 3,072 of vector 2.
#[test]
fn operands_of_an_epilogue_count_in_corrected_mode_only() {
    let window = Window::new(1, 1, 0);
    let plain = convolution([1, 256, 64, 56, 56], window, false);
    let with_residual = convolution([1, 256, 64, 56, 56], window, true);
    let shape = |expr| BlockShape::over_parallel(expr, &[1, 32, 8, 8], &[1, 8, 2, 2], shared(&[16, 1, 1]));
    let loads = |expr, mode| Counts::of(expr, &shape(expr), &GpuArch::v100(), mode).load_transactions;
    assert_eq!(loads(&plain, BoundMode::Corrected), 3_072);
    assert_eq!(loads(&with_residual, BoundMode::Corrected), 3_328);
    assert_eq!(loads(&with_residual, THESIS), 3_072);
}

/// Erratum E12: equal work at 0.4 and at 0.2 takes as long as all of it at 0.267.
#[test]
fn parts_that_run_in_turn_add_their_times() {
    near(combine([(1.0, 0.4), (1.0, 0.2)]), 0.2667, 5e-5);
}

/// Errata E8: with both factors at one half, stages in turn reach a third and stages that overlap a half.
#[test]
fn overlap_decides_between_the_serial_and_the_slower_stage() {
    let expr = matmul([512, 1024, 1024]);
    let bound = |overlapped| {
        let level = OperandLevel::Shared { slice: vec![16], overlapped, conflict_degree: 1.0 };
        upper_bound(
            &expr,
            &BlockShape::over_parallel(&expr, &[16, 16], &[4, 4], level),
            &GpuArch::h200(),
            BoundMode::Corrected,
        )
    };
    let (serial, overlapped) = (bound(false), bound(true));
    let (global, on_chip, balance) = (serial.global_memory, serial.shared_memory, serial.work_balance);
    near(serial.fraction, balance / (1.0 / global + 1.0 / on_chip - 1.0), 1e-12);
    near(overlapped.fraction, balance * global.min(on_chip), 1e-12);
    assert!(serial.fraction < overlapped.fraction);
}

/// Erratum E7: limits are included, and registers count.
#[test]
fn resources_fit_up_to_the_limit() {
    let expr = matmul([1024, 1024, 1024]);
    let fits = |block: &[usize], thread: &[usize], slice: usize| {
        let shape = BlockShape::over_parallel(&expr, block, thread, shared(&[slice]));
        upper_bound(&expr, &shape, &GpuArch::v100(), BoundMode::Corrected).fits
    };
    assert!(fits(&[32, 32], &[1, 1], 32), "1,024 threads fit");
    assert!(!fits(&[64, 32], &[1, 1], 32), "2,048 threads do not");
    assert!(fits(&[64, 64], &[8, 8], 192), "98,304 bytes fit");
    assert!(!fits(&[64, 64], &[8, 8], 193), "98,816 bytes do not");
    assert!(!fits(&[128, 128], &[16, 16], 8), "288 registers a thread do not");
    assert!(!fits(&[256, 256], &[8, 8], 8), "80 registers for each of 1,024 threads do not");
}

#[test]
fn corrected_vector_1_matmul_on_an_h200() {
    let expr = matmul([512, 1024, 1024]);
    let level = OperandLevel::Shared { slice: vec![16], overlapped: true, conflict_degree: 1.0 };
    let shape = BlockShape::over_parallel(&expr, &[64, 64], &[8, 8], level);
    let bound = upper_bound(&expr, &shape, &GpuArch::h200(), BoundMode::Corrected);
    near(bound.global_memory, 1.0, 0.0);
    near(bound.shared_memory, 0.5, 1e-12);
    near(bound.work_balance, 0.9697, 5e-5);
    near(bound.fraction, 0.4848, 5e-5);
    assert_eq!(bound.limit, LimitingFactor::SharedMemory);
}

#[test]
fn corrected_vector_2_convolution_on_an_h200() {
    let expr = convolution([1, 64, 64, 56, 56], Window::new(3, 1, 1), false);
    let shape = BlockShape::over_parallel(&expr, &[1, 32, 8, 8], &[1, 8, 2, 2], shared(&[16, 3, 3]));
    let counts = Counts::of(&expr, &shape, &GpuArch::h200(), BoundMode::Corrected);
    assert_eq!((counts.load_transactions, counts.store_transactions), (3_584, 256));
    let bound = upper_bound(&expr, &shape, &GpuArch::h200(), BoundMode::Corrected);
    near(bound.global_memory, 1.0, 0.0);
    near(bound.shared_memory, 0.5, 1e-12);
    near(bound.work_balance, 0.7424, 5e-5);
    near(bound.fraction, 0.3712, 5e-5);
}

#[test]
fn corrected_vector_3_addition_on_an_h200() {
    let expr = elementwise(&[4096, 4096], 2);
    let shape = BlockShape::over_parallel(&expr, &[32, 128], &[1, 16], OperandLevel::Registers);
    let counts = Counts::of(&expr, &shape, &GpuArch::h200(), BoundMode::Corrected);
    assert_eq!((counts.load_transactions, counts.store_transactions), (1_024, 512));
    let bound = upper_bound(&expr, &shape, &GpuArch::h200(), BoundMode::Corrected);
    near(bound.global_memory, 0.006157, 5e-7);
    near(bound.shared_memory, 1.0, 0.0);
    near(bound.work_balance, 0.9697, 5e-5);
    near(bound.fraction, 0.005970, 5e-7);
    assert_eq!(bound.limit, LimitingFactor::GlobalMemory);
}
