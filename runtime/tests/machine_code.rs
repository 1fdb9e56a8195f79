//! The timing model of machine code against programs that were measured on an H200.

#[path = "machine_code/chains.rs"]
mod chains;
mod cubins;

use cubins::cubin;
use warpweave_runtime::sass::Sass;
use warpweave_runtime::sass::error::CodeError;
use warpweave_runtime::sass::evaluate::evaluate;
use warpweave_runtime::sass::evaluate::launch::Launch;
use warpweave_runtime::sass::machine::MachineModel;
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::sass::simulate::{Surroundings, Timing, simulate};
use warpweave_runtime::sass::trace::{Effect, Trace};

const QUIET: Surroundings = Surroundings { cached: true, active: 1 };

fn machine_code(name: &str) -> MachineCode {
    MachineCode::parse(Sass::of(&cubin(name)).expect("nvdisasm reads it").listing())
        .expect("its instructions are known")
}

fn timed(code: &MachineCode, entry: &str, launch: &mut Launch, watched: &[&str]) -> (Trace, Timing) {
    timed_beside(code, entry, launch, watched, QUIET)
}

fn timed_beside(
    code: &MachineCode,
    entry: &str,
    launch: &mut Launch,
    watched: &[&str],
    surroundings: Surroundings,
) -> (Trace, Timing) {
    let trace = evaluate(code, entry, launch).expect("it can be evaluated");
    let function = code.function(entry).expect("it has the entry");
    let places =
        (function.start..function.end).filter(|place| watched.iter().any(|text| code.code[*place].text.contains(text)));
    let places: Vec<usize> = places.collect();
    let machine = MachineModel::h200();
    let timing = simulate(code, &trace, &machine, surroundings, &places).expect("it can be timed");
    let slots = timing.cycles * machine.schedulers.value;
    assert_eq!(timing.issues + timing.idle.total(), slots, "every cycle of every scheduler is accounted for");
    assert_eq!(timing.issues, trace.count as u64, "every instruction is issued once");
    (trace, timing)
}

/// Cycles between the two reads of the clock by the first warp.
fn clocked(code: &MachineCode, entry: &str, threads: u32, repetitions: u32) -> f64 {
    let mut launch = Launch::new(threads, 0, 132, &[0x10_0000, 0, repetitions, 0, 0x20_0000, 0]);
    let (trace, timing) = timed(code, entry, &mut launch, &["SR_CLOCKLO"]);
    assert_eq!((trace.unknowns.polls, trace.unknowns.addresses), (0, 0));
    let cycles: Vec<u64> = timing.watched.iter().filter(|issue| issue.warp == 0).map(|issue| issue.cycle).collect();
    let [begin, end] = cycles[..] else { panic!("the clock is read twice, not {} times", cycles.len()) };
    (end - begin) as f64
}

/// A listing of instructions with these stall counts, scoreboards to wait for and to write. The label `.loop` stands before
/// the seventh.
fn listing(lines: &[(&str, u64, u64, u64)]) -> MachineCode {
    let mut text = String::from(".text.f:\n");
    for (place, (instruction, stall, wait, write)) in lines.iter().enumerate() {
        if place == 6 {
            text += ".loop:\n";
        }
        let control = (stall | 1 << 4 | write << 5 | 7 << 8 | wait << 11) << 41;
        text += &format!("        /*{:04x}*/  {instruction} ; /* 0x{:016x} */\n", 16 * place, 0);
        text += &format!("        /* 0x{control:016x} */\n");
    }
    MachineCode::parse(&text).expect("the listing is read")
}

/// Cycles of a warp from the first instruction to the last.
fn cycles_of(lines: &[(&str, u64, u64, u64)]) -> u64 {
    let lines: Vec<_> = lines.iter().copied().chain([("EXIT", 5, 0, NONE)]).collect();
    let code = listing(&lines);
    let mut launch = Launch::new(32, 0, 1, &[0x1000, 0]);
    timed(&code, "f", &mut launch, &[]).1.cycles - 1
}

const NONE: u64 = 7;

#[test]
fn stall_counts_scoreboards_and_ports_set_the_pace() {
    let ffma = ("FFMA R0, R1, R3, R0", 4, 0, NONE);
    assert_eq!(cycles_of(&[ffma; 10]), 40, "a dependent chain takes the four cycles that its stall counts say");
    let independent = ("FFMA R0, R1, R2, R4", 1, 0, NONE);
    assert_eq!(
        cycles_of(&[independent; 100]),
        198,
        "two operands in one bank take two cycles of its port, less its window"
    );
    let spread = ("FFMA R0, R1, R2, 1", 1, 0, NONE);
    assert_eq!(cycles_of(&[spread; 100]), 100);
    assert_eq!(
        cycles_of(&[("IADD3 R0, R1, R2, RZ", 1, 0, NONE); 100]),
        199,
        "the integer pipe takes one in two cycles"
    );
    assert_eq!(cycles_of(&[("MUFU.RCP R0, R1", 1, 0, NONE); 10]), 73, "a quarter of the rate");
    let load = [("MOV R2, 0x400", 5, 0, NONE), ("LDS R0, [R2]", 1, 0, 0), ("FADD R0, R0, R0", 1, 1, NONE)];
    assert_eq!(cycles_of(&load), 5 + 29 + 1);
}

#[test]
fn trip_counts_come_from_the_code() {
    let code = listing(&[
        ("ULDC.64 UR4, c[0x0][0x210]", 2, 0, NONE),
        ("MOV R1, 0x5", 4, 0, NONE),
        ("IADD3 R1, R1, -0x1, RZ", 4, 0, NONE),
        ("ISETP.NE.AND P0, PT, R1, RZ, PT", 13, 0, NONE),
        ("@P0 BRA `(.text.f)", 5, 0, NONE),
        ("EXIT", 5, 0, NONE),
    ]);
    assert_eq!(code.code[4].target, Some(0));
    let mut launch = Launch::new(64, 0, 1, &[0x1000, 0]);
    assert!(
        matches!(evaluate(&code, "f", &mut launch), Err(CodeError::TooLong(_))),
        "it jumps back before the count is set"
    );
    assert!(matches!(evaluate(&code, "g", &mut launch), Err(CodeError::Function(_))));
    let unknown = listing(&[("FROB R1, R2", 1, 0, NONE), ("EXIT", 5, 0, NONE)]);
    assert_eq!(evaluate(&unknown, "f", &mut launch), Err(CodeError::Operation("FROB".to_owned())));
}

/// How often the instruction with this text is issued by a block of 64 threads, and what could not be known.
fn issues_of(lines: &[(&str, u64, u64, u64)], text: &str) -> (u64, Trace) {
    let code = listing(lines);
    let mut launch = Launch::new(64, 0, 1, &[0x1000, 0]);
    let (trace, timing) = timed(&code, "f", &mut launch, &[]);
    let places = (0..code.code.len()).filter(|place| code.code[*place].text == text);
    (places.map(|place| timing.instructions[place].issues).sum(), trace)
}

#[test]
fn lanes_that_part_meet_again() {
    let parts = [
        ("S2R R0, SR_LANEID", 5, 0, 0),
        ("BSSY B0, `(.text.f)", 5, 1, NONE),
        ("ISETP.GE.AND P0, PT, R0, 0x8, PT", 13, 0, NONE),
        ("@P0 BRA `(.loop)", 5, 0, NONE),
        ("IADD3 R1, R0, 0x1, RZ", 5, 0, NONE),
        ("IADD3 R1, R1, 0x1, RZ", 5, 0, NONE),
        ("BSYNC B0", 5, 0, NONE),
        ("IADD3 R2, R0, 0x2, RZ", 5, 0, NONE),
        ("EXIT", 5, 0, NONE),
    ];
    assert_eq!(issues_of(&parts, "IADD3 R1, R1, 0x1, RZ").0, 2, "by the lanes that do not jump");
    assert_eq!(issues_of(&parts, "IADD3 R2, R0, 0x2, RZ").0, 2, "once a warp, by all lanes together");
}

#[test]
fn integers_go_through_shared_memory_and_barriers() {
    // Each thread stores its number; the warps read what the other one stored, and loop as often.
    let lines = [
        ("S2R R0, SR_TID.X", 5, 0, 0),
        ("LEA R1, R0, 0x400, 0x2", 5, 1, NONE),
        ("STS [R1], R0", 5, 0, NONE),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", 5, 0, NONE),
        ("MOV R2, 0x40c", 5, 0, NONE),
        ("LDS R3, [R2]", 5, 0, 0),
        ("IADD3 R3, R3, -0x1, RZ", 5, 1, NONE),
        ("ISETP.NE.AND P0, PT, R3, RZ, PT", 13, 0, NONE),
        ("@P0 BRA `(.loop)", 5, 0, NONE),
        ("EXIT", 5, 0, NONE),
    ];
    let (count, trace) = issues_of(&lines, "IADD3 R3, R3, -0x1, RZ");
    assert_eq!((count, trace.unknowns.jumps), (2 * 3, 0), "thread 3 stored the trip count of both warps");
}

#[test]
fn what_is_not_known_is_counted() {
    let jump = |load: &'static str| {
        [
            ("MOV R2, 0x1000", 5, 0, NONE),
            ("MOV R3, RZ", 5, 0, NONE),
            (load, 5, 0, 0),
            ("ISETP.NE.AND P0, PT, R4, RZ, PT", 13, 1, NONE),
            ("@P0 BRA `(.loop)", 5, 0, NONE),
            ("EXIT", 5, 0, NONE),
            ("NOP", 5, 0, NONE),
            ("EXIT", 5, 0, NONE),
        ]
    };
    let (_, polled) = issues_of(&jump("LDG.E.STRONG.GPU R4, desc[UR4][R2.64]"), "EXIT");
    assert_eq!((polled.unknowns.polls, polled.unknowns.jumps), (2, 0));
    let (ordinary, data) = issues_of(&jump("LDG.E R4, desc[UR4][R2.64]"), "NOP");
    assert_eq!((data.unknowns.polls, data.unknowns.jumps), (0, 2));
    assert_eq!(ordinary, 2, "an ordinary element is not zero");
    let guarded = [("@P0 IADD3 R1, R1, 0x1, RZ", 5, 0, NONE), ("LDS R0, [R9]", 5, 0, 0), ("EXIT", 5, 1, NONE)];
    let (_, unknown) = issues_of(&guarded, "EXIT");
    assert_eq!((unknown.unknowns.guards, unknown.unknowns.addresses), (2, 2));
}

#[test]
fn lanes_of_a_named_row_are_neighbours() {
    let gather = |named: &'static str| {
        [
            ("S2R R0, SR_LANEID", 5, 0, 0),
            ("MOV R2, 0x1000", 5, 1, NONE),
            ("MOV R3, RZ", 5, 0, NONE),
            (named, 5, 0, 0),
            ("IMAD R5, R4, 0x40, R0", 5, 1, NONE),
            ("IMAD.WIDE R6, R5, 0x4, R2", 5, 0, NONE),
            ("LDG.E R8, desc[UR4][R6.64]", 5, 0, NONE),
            ("EXIT", 5, 0, NONE),
        ]
    };
    let passes = |named| {
        let (_, trace) = issues_of(&gather(named), "EXIT");
        assert_eq!(trace.unknowns.addresses, 0);
        let last = trace.warps[0].iter().rev().find_map(|step| match step.effect {
            Effect::Global { wavefronts, sectors, .. } => Some((wavefronts, sectors)),
            _ => None,
        });
        last.expect("it loads")
    };
    assert_eq!(passes("LDG.E R4, desc[UR4][R2.64]"), (1, 4), "all lanes read one row");
    assert_eq!(passes("LDG.E R4, desc[UR4][R2.64+0x20]"), (1, 4), "wherever it is named");
    let apart = [
        ("S2R R0, SR_LANEID", 5, 0, 0),
        ("IMAD R2, R0, 0x4, RZ", 5, 1, NONE),
        ("MOV R3, RZ", 5, 0, NONE),
        ("LDG.E R4, desc[UR4][R2.64]", 5, 0, 0),
        ("IMAD.WIDE R6, R4, 0x100, R2", 5, 1, NONE),
        ("LDG.E R8, desc[UR4][R6.64]", 5, 0, NONE),
        ("EXIT", 5, 0, NONE),
    ];
    let (_, trace) = issues_of(&apart, "EXIT");
    let last = trace.warps[0].iter().rev().find(|step| matches!(step.effect, Effect::Global { .. }));
    let Some(Effect::Global { sectors, .. }) = last.map(|step| step.effect) else { panic!("it loads") };
    assert_eq!(sectors, 32, "each lane reads a row of its own");
}

/// What the model is held against holds for these figures and no others.
#[test]
fn the_figures_are_those_that_were_held_against_measurements() {
    let figures = format!("{:?}", MachineModel::h200());
    assert_eq!(blake3::hash(figures.as_bytes()).to_hex()[..16], *"08b5eed71f0303f1");
}

#[track_caller]
fn assert_near(what: &str, model: f64, measured: f64, tolerance: f64) {
    let error = model / measured - 1.0;
    assert!(error.abs() <= tolerance, "{what}: {model:.1}, measured {measured:.1} ({:+.1} %)", 100.0 * error);
}

#[test]
fn multiplications_take_the_measured_time() {
    let code = machine_code("a_comp.cubin");
    for (threads, measured) in [(128, 107.3), (256, 121.9), (512, 119.4), (1024, 120.7)] {
        let repetitions = 400;
        let cycles = clocked(&code, "_Z6k_ffmaILi16EEvPfiPx", threads, repetitions);
        let rate = f64::from(repetitions * 16 * threads) / cycles;
        assert_near(&format!("FFMA a cycle, {threads} threads"), rate, measured, 0.05);
    }
}

#[test]
fn shared_memory_takes_the_measured_time() {
    let code = machine_code("a_comp.cubin");
    for (threads, measured) in [(128, 113.5), (256, 121.3), (512, 125.6), (1024, 125.8)] {
        let repetitions = 500;
        let cycles = clocked(&code, "_Z6k_smemPfiPx", threads, repetitions);
        let rate = f64::from(repetitions * 8 * 16 * threads) / cycles;
        assert_near(&format!("bytes a cycle, {threads} threads"), rate, measured, 0.05);
    }
}

/// Cycles between the last time stamps of the last layer's first block, whose parameters are those of the probe.
fn lstm_step(code: &MachineCode, entry: &str, layer: u32) -> f64 {
    let pointers =
        [0x1000_0000u32, 0x2000_0000, 0x3000_0000, 0x4000_0000, 0x5000_0000, 0x6000_0000, 0x7000_0000, 0x7100_0000];
    let parameters: Vec<u32> = pointers.into_iter().flat_map(|pointer| [pointer, 0]).collect();
    let mut launch = Launch::new(640, layer * 13, 130, &parameters);
    let (trace, timing) = timed(code, entry, &mut launch, &["SR_GLOBALTIMERLO"]);
    assert_eq!((trace.unknowns.jumps, trace.unknowns.addresses), (0, 0), "only polls and guards are unknown");
    let cycles: Vec<u64> = timing.watched.iter().filter(|issue| issue.warp == 0).map(|issue| issue.cycle).collect();
    let (steps, last) = (60, cycles.len() - 1);
    (cycles[last] - cycles[last - steps]) as f64 / steps as f64
}

#[test]
fn steps_of_an_lstm_take_the_measured_time() {
    let code = machine_code("c.cubin");
    let nanoseconds = |cycles: f64| cycles / 1.98;
    let exchange = MachineModel::h200().exchange_cycles() as f64;
    for (entry, layer, measured) in [
        ("_Z6lstm13IfLi1EEv2PL", 9, 973.0),
        ("_Z6lstm13IfLi1EEv2PL", 0, 914.0),
        ("_Z6lstm13IfLi0EEv2PL", 9, 1891.0),
        ("_Z6lstm13IfLi0EEv2PL", 0, 1532.0),
        ("_Z6lstm13I6__halfLi1EEv2PL", 9, 1174.0),
        ("_Z6lstm13I6__halfLi1EEv2PL", 0, 1130.0),
        ("_Z6lstm13I6__halfLi0EEv2PL", 9, 2019.0),
        ("_Z6lstm13I6__halfLi0EEv2PL", 0, 1671.0),
    ] {
        let cycles = lstm_step(&code, entry, layer) + exchange;
        assert_near(&format!("a step of {entry}, layer {layer}, ns"), nanoseconds(cycles), measured, 0.15);
    }
}

/// The rates of `mma.sync` with 8 and 16 accumulators a warp, and of a dependent chain, multiplications a cycle.
#[test]
fn products_of_matrices_take_the_measured_time() {
    let code = machine_code("a_comp.cubin");
    let repetitions = 1000;
    for (chains, threads, measured) in [
        (8, 128, 1189.0),
        (8, 256, 1322.0),
        (8, 512, 1324.0),
        (16, 128, 1253.0),
        (16, 256, 1313.0),
        (16, 512, 1308.0),
        (1, 32, 2048.0 / 24.1),
    ] {
        let cycles = clocked(&code, &format!("_Z5k_mmaILi{chains}EEvPfiPx"), threads, repetitions);
        let rate = f64::from(repetitions * chains * threads / 32 * 2048) / cycles;
        assert_near(&format!("multiplications a cycle, {chains} chains, {threads} threads"), rate, measured, 0.05);
    }
}

/// `mma.sync` fed by `ldmatrix` from padded rows. Each case has rows and columns of a warp's tile in units of 16 and 8,
/// and whether the second factor stays in registers. Then come multiplications a cycle of 4, 8, 12 and 16 warps.
#[test]
fn products_from_shared_memory_take_the_measured_time() {
    let code = machine_code("a_comp.cubin");
    let repetitions = 60;
    for (rows, columns, held, measured) in [
        (4, 4, 0, [919.0, 1215.0, 1258.0, 1259.0]),
        (2, 4, 0, [749.0, 998.0, 992.0, 998.0]),
        (2, 2, 0, [348.0, 599.0, 673.0, 678.0]),
        (4, 4, 1, [1088.0, 1283.0, 1288.0, 1289.0]),
        (4, 2, 1, [399.0, 754.0, 971.0, 1017.0]),
        (1, 8, 0, [381.0, 682.0, 800.0, 812.0]),
    ] {
        for (warps, measured) in [4, 8, 12, 16].into_iter().zip(measured) {
            let entry = format!("_Z7k_ldmmaILi{rows}ELi{columns}ELb{held}EEvPfiPx");
            let cycles = clocked(&code, &entry, 32 * warps, repetitions);
            let rate = f64::from(repetitions * 16 * rows * columns * warps * 2048) / cycles;
            assert_near(&format!("multiplications a cycle, {entry}, {warps} warps"), rate, measured, 0.08);
        }
    }
}

/// Bytes a cycle from the second-level cache into one multiprocessor, in loops that load 1, 4 or 8 times 16 bytes a thread.
#[test]
fn loads_from_the_second_level_cache_take_the_measured_time() {
    let code = machine_code("a_mem.cubin");
    for (threads, unroll, gigabytes) in [
        (128, 1, 37.2),
        (128, 4, 47.4),
        (128, 8, 47.3),
        (256, 1, 73.5),
        (256, 4, 93.6),
        (256, 8, 93.8),
        (512, 1, 139.2),
        (512, 4, 175.6),
        (512, 8, 174.8),
        (1024, 1, 208.2),
        (1024, 4, 235.5),
    ] {
        let chunk = threads * unroll * 16;
        let entry = format!("_Z5k_ldgILi{unroll}EEvPK5uint4jiPj");
        let cycles = |iterations: u32| {
            let parameters = [0x1000_0000, 0, (20 << 20) / chunk, iterations, 0x20_0000, 0];
            timed(&code, &entry, &mut Launch::new(threads, 0, 1, &parameters), &[]).1.cycles
        };
        let rate = f64::from(40 * chunk) / (cycles(80) - cycles(40)) as f64;
        assert_near(&format!("bytes a cycle, {threads} threads, {unroll} loads"), rate, gigabytes / 1.98, 0.17);
    }
}
