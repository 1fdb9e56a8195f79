//! The protocol of the persistent program, and its mutants.

use warpweave_codegen::emulate::mutate::{PlanMutation, ProgramMutation};
use warpweave_codegen::emulate::{Device, Fault, LaunchOptions, LaunchReport};
use warpweave_codegen::kernel_ir::{Expression, Function, GlobalSpace, Place, Program, ScalarType};
use warpweave_codegen::verify;
use warpweave_plan::tables::{Awaited, Tables};

use crate::build::*;

const THREADS: i32 = 64;
const SEEDS: u64 = 50;

/// Writes `2 · input[t]` to `middle[t]`; operands: the first elements.
fn produce() -> Function {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::F32);
    kernel.body = vec![
        load(Place::Local(value), GlobalSpace::Arena, add(operand(0), thread())),
        store(add(operand(1), thread()), add(value.into(), value.into())),
    ];
    kernel
}

/// Writes `middle[63 − t] + 1` to `output[t]`.
fn consume() -> Function {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::F32);
    kernel.body = vec![
        load(Place::Local(value), GlobalSpace::Arena, add(operand(0), subtract(int(THREADS - 1), thread()))),
        store(add(operand(1), thread()), add(value.into(), Expression::f32(1.0))),
    ];
    kernel
}

fn pair() -> (Program, Tables) {
    let streams = [
        vec![run(0, 0, 0), Step::Signal { counter: 0 }],
        vec![Step::Wait { counter: 0, arrivals: 1, n: 1 }, run(1, 4, 0)],
    ];
    (program(THREADS as u32, vec![produce(), consume()]), tables(&streams, &[0, 64, 0, 0, 64, 128]))
}

fn device<'a>(program: &Program, tables: &'a Tables) -> Device<'a> {
    let mut device = Device::new(program, tables, &[], 3 * 256, 1).unwrap();
    fill(&mut device);
    device
}

fn fill(device: &mut Device) {
    for (index, word) in device.arena_mut()[..256].chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&(index as f32).to_le_bytes());
    }
}

fn launch(device: &mut Device, seed: u64) -> LaunchReport {
    device
        .launch(std::slice::from_ref(&(0..256)), &LaunchOptions { step_budget: 1 << 20, ..LaunchOptions::seeded(seed) })
}

fn assert_right(device: &Device) {
    let output = device.arena()[512..].chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap()));
    assert!(output.enumerate().all(|(index, value)| value == 2.0 * (63 - index) as f32 + 1.0));
}

#[test]
fn the_pair_is_clean_with_every_seed() {
    let (program, tables) = pair();
    assert_eq!(verify::verify(&program), []);
    for seed in 0..SEEDS {
        let mut device = device(&program, &tables);
        for _ in 0..3 {
            let report = launch(&mut device, seed);
            assert!(report.is_clean(), "seed {seed}: {report}");
            assert_right(&device);
        }
        assert_eq!(device.controls[0].epoch, 4);
    }
}

#[test]
fn every_program_mutant_is_reported_with_every_seed() {
    let (program, tables) = pair();
    for mutation in ProgramMutation::ALL {
        let mutant = mutation.apply(&program);
        assert_ne!(mutant, program);
        for seed in 0..SEEDS {
            let report = launch(&mut device(&mutant, &tables), seed);
            assert!(report.total > 0, "{mutation:?}, seed {seed}");
        }
    }
}

#[test]
fn a_dropped_wait_is_a_race() {
    let (program, tables) = pair();
    let mutant = PlanMutation::DropWait { number: 0 }.apply(&tables).unwrap();
    let (mut early, mut late) = (0, 0);
    for seed in 0..SEEDS {
        let report = launch(&mut device(&program, &mutant), seed);
        let seen = |kind: fn(&Fault) -> bool| report.violations.iter().any(|violation| kind(&violation.fault));
        let uninitialised = seen(|fault| matches!(fault, Fault::GlobalUninitialised { .. }));
        let race = seen(|fault| matches!(fault, Fault::GlobalRace { .. }));
        assert!(uninitialised || race, "seed {seed}: {report}");
        early += u32::from(uninitialised);
        late += u32::from(race);
    }
    // The seeds differ in who comes first.
    assert!(early > 5 && late > 5, "{early} early, {late} late");
}

#[test]
fn an_early_signal_is_a_race() {
    let (program, tables) = pair();
    let mutant = PlanMutation::SignalBeforeRun { number: 0 }.apply(&tables).unwrap();
    for seed in 0..SEEDS {
        assert!(launch(&mut device(&program, &mutant), seed).total > 0, "seed {seed}");
    }
}

#[test]
fn a_missing_signal_is_a_deadlock() {
    let (program, tables) = pair();
    let mutant = PlanMutation::DropSignal { number: 0 }.apply(&tables).unwrap();
    for seed in 0..SEEDS {
        let report = launch(&mut device(&program, &mutant), seed);
        assert_eq!(report.total, 1);
        assert_eq!(report.violations[0].fault, Fault::Deadlock { counter: 0, seen: 0, wanted: 1 });
        assert_eq!(report.violations[0].site.block, 1);
        assert!(!report.completed);
    }
}

#[test]
fn buffers_reused_without_order_are_a_race() {
    // Block 1 reads what block 0 overwrites without waiting for the read.
    let streams = [
        vec![run(0, 0, 0), Step::Signal { counter: 0 }, run(0, 8, 0)],
        vec![Step::Wait { counter: 0, arrivals: 1, n: 1 }, run(1, 4, 0)],
    ];
    let tables = tables(&streams, &[0, 64, 0, 0, 64, 128, 0, 0, 0, 64]);
    let (program, _) = pair();
    for seed in 0..SEEDS {
        let report = launch(&mut device(&program, &tables), seed);
        assert!(report.total > 0, "seed {seed}");
    }
}

#[test]
fn launches_cross_the_wrap_of_the_epoch() {
    let (program, tables) = pair();
    for seed in 0..SEEDS {
        let mut device = device(&program, &tables);
        device.restart(u32::MAX - 1);
        for _ in 0..4 {
            let report = launch(&mut device, seed);
            assert!(report.is_clean(), "seed {seed}: {report}");
            assert_right(&device);
        }
        assert_eq!((device.controls[0].epoch, device.counters[0]), (2, 1));
    }
}

#[test]
fn a_stale_epoch_is_reported() {
    // The counters are one launch ahead of the epoch, so the wait passes at once.
    let (program, tables) = pair();
    for seed in 0..SEEDS {
        let mut device = device(&program, &tables);
        device.counters[0] = 1;
        assert!(launch(&mut device, seed).total > 0);
    }
}

#[test]
fn a_time_out_aborts_and_zeroing_repairs() {
    let (program, tables) = pair();
    for seed in 0..SEEDS {
        let mut device = device(&program, &tables);
        let options = LaunchOptions { time_out_wait: Some(0), ..LaunchOptions::seeded(seed) };
        let report = device.launch(std::slice::from_ref(&(0..256)), &options);
        assert!(report.completed && report.aborted);
        let status = report.status.unwrap();
        assert_eq!(status.awaited, Awaited::Counter { position: 3, counter: 0 });
        assert_eq!((status.block, status.wanted), (1, 1));
        assert_eq!(device.controls[0].epoch, 1);
        device.restart(1);
        assert!(launch(&mut device, seed).is_clean());
        assert_right(&device);
    }
}
