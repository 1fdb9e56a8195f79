//! A grid as large as a real device's.

use warpweave_codegen::emulate::mutate::PlanMutation;
use warpweave_codegen::emulate::{Device, LaunchOptions, LaunchReport};
use warpweave_codegen::kernel_ir::{Expression, Function, GlobalSpace, Place, Program, ScalarType, Statement};
use warpweave_plan::tables::Tables;

use crate::build::*;

const BLOCKS: i32 = 132;
const THREADS: i32 = 256;
const LAYERS: i32 = 3;

/// `output[tile · 256 + t]` = the sum of `input[block · 256 + t]` over all blocks, plus 1.
fn sum_all() -> Function {
    let mut kernel = Function::default();
    let [sum, value] = std::array::from_fn(|_| kernel.locals.push(ScalarType::F32));
    let block = kernel.locals.push(ScalarType::I32);
    let assign = |value| Statement::Assign { place: Place::Local(sum), value };
    let index = add(add(operand(0), multiply(block.into(), int(THREADS))), thread());
    let body = vec![load(Place::Local(value), GlobalSpace::Arena, index), assign(add(sum.into(), value.into()))];
    kernel.body = vec![
        assign(Expression::f32(1.0)),
        Statement::For { variable: block, extent: operand(2), unroll: false, body },
        store(add(add(operand(1), multiply(Expression::Tile, int(THREADS))), thread()), sum.into()),
    ];
    kernel
}

fn layers() -> (Program, Tables) {
    let size = BLOCKS * THREADS;
    let operands: Vec<i32> = (0..LAYERS).flat_map(|layer| [layer * size, (layer + 1) * size, BLOCKS, 0]).collect();
    let stream = |block| {
        let mut stream = Vec::new();
        for layer in 0..LAYERS {
            if layer > 0 {
                stream.push(Step::Wait { counter: layer - 1, arrivals: BLOCKS, n: BLOCKS });
            }
            stream.push(run(0, layer * 4, block));
            stream.push(Step::Signal { counter: layer });
        }
        stream
    };
    let streams: Vec<Vec<Step>> = (0..BLOCKS).map(stream).collect();
    (program(THREADS as u32, vec![sum_all()]), tables(&streams, &operands))
}

fn launch(program: &Program, tables: &Tables, seed: u64) -> (LaunchReport, Vec<u8>) {
    let bytes = (BLOCKS * THREADS * 4) as usize;
    let mut device = Device::new(program, tables, &[], bytes * (LAYERS as usize + 1), LAYERS as usize).unwrap();
    let initialised = 0..bytes;
    let report = device.launch(&[initialised], &LaunchOptions::seeded(seed));
    (report, device.arena()[bytes * LAYERS as usize..].to_vec())
}

#[test]
fn a_full_grid_exchanges_layers() {
    let (program, tables) = layers();
    let expected = (0..LAYERS).fold(0.0f32, |value, _| (0..BLOCKS).fold(1.0, |sum, _| sum + value));
    for seed in 0..2 {
        let (report, output) = launch(&program, &tables, seed);
        assert!(report.is_clean(), "seed {seed}: {report}");
        assert!(output.chunks_exact(4).all(|word| word == expected.to_le_bytes()));
    }
}

#[test]
fn one_early_signal_in_a_full_grid_is_found() {
    let (program, tables) = layers();
    // The signal of block 25 after its second layer.
    let mutant = PlanMutation::SignalBeforeRun { number: 76 }.apply(&tables).unwrap();
    let (report, _) = launch(&program, &mutant, 0);
    assert!(report.total > 0);
}
