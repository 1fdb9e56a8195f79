//! Printed text on the host: several launches, the wrap of epochs, and every way to fail.

#[path = "../../codegen/tests/contraction/mod.rs"]
mod contraction;
#[path = "../../codegen/tests/every_node/mod.rs"]
mod every_node;
#[path = "../../codegen/tests/matrices/mod.rs"]
mod matrices;
#[path = "../../codegen/tests/sample/mod.rs"]
mod sample;

use std::time::Duration;

use warpweave_codegen::emulate::{Device, LaunchOptions};
use warpweave_codegen::kernel_ir::{
    BinaryOp, Builtin, Entry, Expression, Function, KernelId, MemoryType, MixedEntries, Program, Statement,
};
use warpweave_codegen::print::cuda;
use warpweave_codegen::verify::verify;
use warpweave_codegen::{nodes, persistent};
use warpweave_graph::arena::{Arena, Id};
use warpweave_plan::tables::{
    Awaited, HELD_OPERANDS, Launch, NodeLaunch, OPCODE_WAIT, StreamLaunch, StreamStep, Tables,
};
use warpweave_plan::tensor_core::sum::TensorCore;
use warpweave_runtime::cache::Cache;
use warpweave_runtime::session_memory::SessionMemory;
use warpweave_runtime::text::{TextError, TextLaunch, TextProgram};

const ARENA_ELEMENTS: usize = 384;
const COUNTERS: usize = 4;

fn inputs() -> (Vec<f32>, Vec<f32>) {
    let x = (0..128).map(|i| (i as f32 * 0.37).sin()).collect();
    let w = (0..64).map(|i| (i as f32 * 0.11).cos()).collect();
    (x, w)
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn memory(x: &[f32]) -> SessionMemory {
    let mut arena = bytes(x);
    arena.resize(ARENA_ELEMENTS * 4, 0);
    SessionMemory::new(arena, COUNTERS)
}

fn launch<'a>(tables: &'a Tables, weights: &'a [u8], launches: u32) -> TextLaunch<'a> {
    TextLaunch {
        threads: sample::THREADS,
        shared_bytes: sample::program().shared_bytes(),
        tables,
        weights,
        launches,
        wait_limit: Duration::from_secs(20),
        run_limit: Duration::from_secs(60),
        tensor_core: TensorCore::Hopper,
    }
}

#[test]
fn three_launches_and_three_across_the_wrap() {
    let (x, w) = inputs();
    let (tables, weights) = (sample::tables(), bytes(&w));
    let program = TextProgram::compile(&cuda(&sample::program()), None).expect("the sample compiles");
    let expected = bytes(&sample::expected(&x, &w, 3));
    let fresh = memory(&x);
    let before_the_wrap = memory(&x).at_epoch(i32::MAX - 1, &[1; COUNTERS], &[2]);
    let before_zero = memory(&x).at_epoch(-2, &[1; COUNTERS], &[2]);
    for start in [fresh, before_the_wrap, before_zero] {
        let mut memory = start.clone();
        program.run(launch(&tables, &weights, 3), &mut memory).expect("three launches succeed");
        assert_eq!(memory.arena, expected);
        assert_eq!(memory.epoch(), start.epoch().wrapping_add(3));
        assert_eq!(memory.counter(0), start.counter(0).wrapping_add(3));
    }
}

#[test]
fn executables_are_cached() {
    let directory = std::env::temp_dir().join(format!("warpweave-text-cache-{}", std::process::id()));
    let cache = Cache::new(&directory);
    let text = cuda(&sample::program());
    for _ in 0..2 {
        TextProgram::compile(&text, Some(&cache)).expect("the sample compiles");
        assert_eq!(std::fs::read_dir(&directory).expect("the cache exists").count(), 1);
    }
    std::fs::remove_dir_all(directory).expect("the cache can be removed");
}

#[test]
fn failures_are_named() {
    let (x, w) = inputs();
    let weights = bytes(&w);
    let program = TextProgram::compile(&cuda(&sample::program()), None).expect("the sample compiles");

    let mut tables = sample::tables();
    // The last signal of vEU 0 becomes another wait for what has arrived: only vEU 1's last wait cannot end.
    tables.instructions[4 * 4..][..4].copy_from_slice(&[OPCODE_WAIT, 1, 1, 1]);
    let short = TextLaunch { wait_limit: Duration::from_secs(2), ..launch(&tables, &weights, 1) };
    match program.run(short, &mut memory(&x)) {
        Err(TextError::Wait(wait)) => {
            assert!(matches!(wait.awaited, Awaited::Counter { counter: 2, .. }), "{wait}");
            assert_eq!((wait.veu, wait.seen, wait.wanted), (1, 0, 1));
        }
        other => panic!("a wait without signal ended with {other:?}"),
    }

    let tables = sample::tables();
    match program.run(launch(&tables, &weights[..128], 1), &mut memory(&x)) {
        Err(TextError::Run { log, .. }) => assert!(log.contains("of the weights is out of bounds"), "{log}"),
        other => panic!("a read beyond the weights ended with {other:?}"),
    }

    let slow = TextLaunch { run_limit: Duration::ZERO, launches: 1_000_000, ..launch(&tables, &weights, 1) };
    assert!(matches!(program.run(slow, &mut memory(&x)), Err(TextError::TimeLimit { .. })));

    match TextProgram::compile("static int k0(", None) {
        Err(TextError::Compile { log, .. }) => assert!(log.contains("error"), "{log}"),
        Err(other) => panic!("bad text failed as {other:?}"),
        Ok(_) => panic!("bad text compiled"),
    }
}

#[test]
fn a_missing_barrier_shows() {
    let text = cuda(&sample::program()).replace("  ww_barrier();\n  #pragma unroll 1", "  #pragma unroll 1");
    let (x, w) = inputs();
    let (tables, weights) = (sample::tables(), bytes(&w));
    let program = TextProgram::compile(&text, None).expect("the changed sample compiles");
    let mut results = Vec::new();
    for launches in [1, 2] {
        let mut memory = memory(&x);
        program.run(launch(&tables, &weights, launches), &mut memory).expect("the launches end");
        results.push(memory.arena == bytes(&sample::expected(&x, &w, launches as usize)));
    }
    assert_eq!(results, [false, false]);
}

#[test]
fn divergence_at_a_barrier_is_found() {
    let text = cuda(&sample::program())
        .replace("  ww_barrier();\n  #pragma unroll 1", "  if (ww_thread() < 40u) ww_barrier();");
    let (x, w) = inputs();
    let (tables, weights) = (sample::tables(), bytes(&w));
    let program = TextProgram::compile(&text, None).expect("the changed sample compiles");
    match program.run(launch(&tables, &weights, 1), &mut memory(&x)) {
        Err(TextError::Run { log, .. }) => assert!(log.contains("no thread of a block can continue"), "{log}"),
        other => panic!("a diverged barrier ended with {other:?}"),
    }
}

#[test]
fn a_dozen_contractions() {
    const M: usize = 64;
    const N: usize = 128;
    const K: usize = 32;
    let a: Vec<f32> = (0..M * K).map(|i| (i % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..K * N).map(|i| (i % 7) as f32 - 3.0).collect();
    let program = contraction::program(12);
    let compiled = TextProgram::compile(&cuda(&program), None).expect("the contractions compile");
    // Kernel 6 adds 6 and has no further epilogue; two vEUs compute one tile each.
    let mut tables = Tables {
        operands: vec![0, 0, (M * K) as i32, K as i32, N as i32, 2],
        launches: vec![Launch::Streams(StreamLaunch { first_stream: 0, blocks: 2 })],
        ..Tables::default()
    };
    for tile in 0..2 {
        tables.push_stream(&[StreamStep::Run { kernel: 6, operands: 0, tile, own: 0 }]);
    }
    tables.close();
    let mut arena = bytes(&a);
    arena.resize((M * K + M * N) * 4, 0);
    let mut memory = SessionMemory::new(arena, 0);
    let weights = bytes(&b);
    let launch =
        TextLaunch { threads: program.threads, shared_bytes: program.shared_bytes(), ..launch(&tables, &weights, 1) };
    compiled.run(launch, &mut memory).expect("the contraction runs");
    let product = |index: usize| (0..K).map(|k| a[index / N * K + k] * b[k * N + index % N]).sum::<f32>() + 6.0;
    let expected: Vec<f32> = (0..M * N).map(product).collect();
    assert_eq!(memory.arena[M * K * 4..], bytes(&expected));
}

#[test]
fn products_of_matrices_are_those_of_the_emulator() {
    let (program, tables) = (matrices::program(), matrices::tables());
    let compiled = TextProgram::compile(&cuda(&program), None).expect("the products compile");
    for tensor_core in [TensorCore::Ampere, TensorCore::Hopper] {
        for seed in 0..6 {
            let weights = matrices::weights(seed);
            let mut device = Device::new(&program, &tables, &weights, matrices::arena_bytes(), 0).expect("it is sound");
            let report = device.launch(&[], &LaunchOptions { tensor_core, ..LaunchOptions::seeded(seed) });
            assert!(report.is_clean(), "{report}");
            let mut memory = SessionMemory::new(vec![0; matrices::arena_bytes()], 0);
            let (threads, shared_bytes) = (program.threads, program.shared_bytes());
            let launch = TextLaunch { threads, shared_bytes, tensor_core, ..launch(&tables, &weights, 1) };
            compiled.run(launch, &mut memory).expect("the products run");
            assert!(memory.arena == device.arena(), "{tensor_core:?}, seed {seed}");
        }
    }
}

#[test]
fn rows_of_matrices_are_checked() {
    let weights = matrices::weights(0);
    let (program, tables) = (matrices::program(), matrices::tables());
    let text = cuda(&program);
    let misplaced = |shift: &str, what: &str| {
        let text =
            text.replacen("ww_load_matrices4_f16(r0, s0, ", &format!("ww_load_matrices4_f16(r0, s0, {shift} + "), 1);
        let compiled = TextProgram::compile(&text, None).expect("the changed products compile");
        let mut memory = SessionMemory::new(vec![0; matrices::arena_bytes()], 0);
        let (threads, shared_bytes) = (program.threads, program.shared_bytes());
        match compiled.run(TextLaunch { threads, shared_bytes, ..launch(&tables, &weights, 1) }, &mut memory) {
            Err(TextError::Run { log, .. }) => assert!(log.contains(what), "{log}"),
            other => panic!("a row at {shift} ended with {other:?}"),
        }
    };
    misplaced("4u", "is not aligned");
    misplaced("4096u", "is out of bounds");
}

/// A node of a program of both kinds whose kernel has more operands than are held, before a stream that calls the same kernel.
#[test]
fn a_kernel_of_many_operands_is_a_node_and_is_called() {
    const LAST: usize = HELD_OPERANDS + 16;
    let value = Expression::f32(7.0);
    let index =
        Expression::binary(BinaryOp::Add, Expression::Operand(LAST as u32), Expression::Builtin(Builtin::Thread));
    let body = vec![Statement::StoreGlobal { memory: MemoryType::F32, index, values: vec![value] }];
    let kernels = Arena::from_iter([Function { body, ..Function::default() }]);
    let kernel = KernelId::from_index(0);
    let nodes = [(kernel, nodes::entry(kernel, &kernels))].into();
    let entry = Entry::Mixed(MixedEntries { persistent: persistent::entry(&kernels), nodes });
    let program = Program { threads: sample::THREADS, kernels, entry };
    assert_eq!(verify(&program), []);
    let called = (LAST + 1).next_multiple_of(4);
    let mut operands = vec![0; called + LAST + 1];
    (operands[LAST], operands[called + LAST]) = (128, 256);
    let launches = vec![
        Launch::Node(NodeLaunch { kernel: 0, operands: 0, blocks: 1 }),
        Launch::Streams(StreamLaunch { first_stream: 0, blocks: 1 }),
    ];
    let mut tables = Tables { operands, launches, ..Tables::default() };
    tables.push_stream(&[StreamStep::Run { kernel: 0, operands: called as u32, tile: 0, own: 0 }]);
    tables.close();
    let compiled = TextProgram::compile(&cuda(&program), None).expect("the program compiles");
    let mut memory = memory(&[0.0; 128]);
    let launch = TextLaunch { shared_bytes: program.shared_bytes(), ..launch(&tables, &[], 1) };
    compiled.run(launch, &mut memory).expect("the node and the stream run");
    let mut expected = vec![0.0; ARENA_ELEMENTS];
    for start in [128, 256] {
        expected[start..][..sample::THREADS as usize].fill(7.0);
    }
    assert_eq!(memory.arena, bytes(&expected));
}

#[test]
fn the_host_knows_every_primitive() {
    TextProgram::compile(&cuda(&every_node::program()), None).unwrap_or_else(|error| panic!("{error}"));
}
