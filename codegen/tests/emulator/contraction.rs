//! A tiled matrix product through shared memory and register arrays.

use std::time::{Duration, Instant};

use warpweave_codegen::emulate::{Device, LaunchOptions, LaunchReport};
use warpweave_codegen::kernel_ir::{
    ArrayId, BinaryOp, Expression, Function, GlobalSpace, LocalId, MemoryType, Place, RegisterArray, ScalarType,
    SharedArray, SharedId, Statement, Width,
};
use warpweave_codegen::verify;

use crate::build::*;

const TILE: i32 = 64;
const DEPTH: i32 = 8;

/// `c[m][n] = Σ a[k][m] · b[k][n]` for one 64 × 64 tile by 64 threads of 8 × 8 outputs each. Operands: the first
/// elements of a (weights), b (arena) and c (arena), the steps of 8, and the tiles of a row; M = N.
fn product() -> Function {
    let mut kernel = Function::default();
    let int_local = |kernel: &mut Function| kernel.locals.push(ScalarType::I32);
    let [row, column, step, k, i, j] = std::array::from_fn(|_| int_local(&mut kernel));
    let f32_array =
        |kernel: &mut Function, length| kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length });
    let [a, b] = std::array::from_fn(|_| f32_array(&mut kernel, 8));
    let sums = f32_array(&mut kernel, 64);
    let tile = SharedArray { memory: MemoryType::F32, length: (TILE * DEPTH) as u32 };
    let [shared_a, shared_b] = std::array::from_fn(|_| kernel.shared.push(tile));

    let size = multiply(operand(4), int(TILE));
    let divide = |x, y| Expression::binary(BinaryOp::Divide, x, y);
    let remainder = |x, y| Expression::binary(BinaryOp::Remainder, x, y);
    let assign = |local: LocalId, value| Statement::Assign { place: Place::Local(local), value };
    let unrolled = |variable, extent, body| Statement::For { variable, extent: int(extent), unroll: true, body };

    // Each thread copies eight consecutive elements of one row of each operand.
    let fetch = |space, base: u32, origin: LocalId, registers: ArrayId, shared: SharedId| -> Vec<Statement> {
        let line = add(multiply(step.into(), int(DEPTH)), divide(thread(), int(8)));
        let inside = multiply(remainder(thread(), int(8)), int(8));
        let index = add(add(operand(base), multiply(line, size.clone())), add(origin.into(), inside));
        let load = |half: i32| Statement::LoadGlobal {
            place: Place::Element(registers, int(half * 4)),
            space,
            memory: MemoryType::F32,
            width: Width::Four,
            index: add(index.clone(), int(half * 4)),
        };
        let store = |half: i32| Statement::StoreShared {
            array: shared,
            index: add(multiply(thread(), int(8)), int(half * 4)),
            values: (0..4).map(|e| Expression::Element(registers, Box::new(int(half * 4 + e)))).collect(),
        };
        vec![load(0), load(1), store(0), store(1)]
    };
    let read = |registers, shared, offset: Expression, half: i32| Statement::LoadShared {
        place: Place::Element(registers, int(half * 4)),
        array: shared,
        width: Width::Four,
        index: add(add(multiply(k.into(), int(TILE)), offset), int(half * 4)),
    };
    let element = |array, index: Expression| Expression::Element(array, Box::new(index));
    let sum_index = || add(multiply(i.into(), int(8)), j.into());
    let lane_row = multiply(divide(thread(), int(8)), int(8));
    let lane_column = multiply(remainder(thread(), int(8)), int(8));

    let mut inner: Vec<Statement> = (0..2).map(|half| read(a, shared_a, lane_row.clone(), half)).collect();
    inner.extend((0..2).map(|half| read(b, shared_b, lane_column.clone(), half)));
    let multiply_add = Statement::Assign {
        place: Place::Element(sums, sum_index()),
        value: Expression::FusedMultiplyAdd(
            Box::new(element(a, i.into())),
            Box::new(element(b, j.into())),
            Box::new(element(sums, sum_index())),
        ),
    };
    inner.push(unrolled(i, 8, vec![unrolled(j, 8, vec![multiply_add])]));

    let mut steps = fetch(GlobalSpace::Weights, 0, row, a, shared_a);
    steps.extend(fetch(GlobalSpace::Arena, 1, column, b, shared_b));
    steps.push(Statement::BlockBarrier);
    steps.push(unrolled(k, DEPTH, inner));
    steps.push(Statement::BlockBarrier);

    let out = add(
        operand(2),
        add(multiply(add(add(row.into(), lane_row), i.into()), size.clone()), add(column.into(), lane_column)),
    );
    let write = |half: i32| Statement::StoreGlobal {
        memory: MemoryType::F32,
        index: add(out.clone(), int(half * 4)),
        values: (0..4).map(|e| element(sums, add(multiply(i.into(), int(8)), int(half * 4 + e)))).collect(),
    };
    let clear = Statement::Assign { place: Place::Element(sums, i.into()), value: Expression::f32(0.0) };
    kernel.body = vec![
        assign(row, multiply(divide(Expression::Tile, operand(4)), int(TILE))),
        assign(column, multiply(remainder(Expression::Tile, operand(4)), int(TILE))),
        unrolled(i, 64, vec![clear]),
        Statement::For { variable: step, extent: operand(3), unroll: false, body: steps },
        unrolled(i, 8, vec![write(0), write(1)]),
    ];
    kernel
}

/// Multiplies `tiles · 64` square matrices of depth `steps · 8` on `grid` blocks; gives the report and the result.
fn run_product(tiles: i32, steps: i32, grid: usize, seed: u64) -> (LaunchReport, Vec<f32>, Vec<f32>, Duration) {
    let size = tiles * TILE;
    let elements = (size * steps * DEPTH) as usize;
    let value = |index: usize| ((index * 37 % 101) as f32 - 50.0) * 0.017;
    let [a, b] = [0, 1].map(|shift| (0..elements).map(|index| value(index + shift * 13)).collect::<Vec<f32>>());
    let weights: Vec<u8> = a.iter().flat_map(|value| value.to_le_bytes()).collect();
    let program = program(TILE as u32, vec![product()]);
    assert_eq!(verify::verify(&program), []);
    let mut streams = vec![Vec::new(); grid];
    for tile in 0..tiles * tiles {
        streams[tile as usize % grid].push(run(0, 0, tile));
    }
    let tables = tables(&streams, &[0, 0, elements as i32, steps, tiles]);
    let bytes = (elements + (size * size) as usize) * 4;
    let mut device = Device::new(&program, &tables, &weights, bytes, 0).unwrap();
    for (word, value) in device.arena_mut().chunks_exact_mut(4).zip(&b) {
        word.copy_from_slice(&value.to_le_bytes());
    }
    let initialised = 0..elements * 4;
    let start = Instant::now();
    let report = device.launch(&[initialised], &LaunchOptions::seeded(seed));
    let elapsed = start.elapsed();
    let result = device.arena()[elements * 4..].chunks_exact(4);
    let result = result.map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect();
    let size = size as usize;
    let mut expected = vec![0.0f32; size * size];
    for k in 0..(steps * DEPTH) as usize {
        for (index, sum) in expected.iter_mut().enumerate() {
            *sum = a[k * size + index / size].mul_add(b[k * size + index % size], *sum);
        }
    }
    (report, result, expected, elapsed)
}

#[test]
fn a_tiled_product_is_exact_and_clean() {
    for seed in 0..5 {
        let (report, result, expected, _) = run_product(2, 3, 3, seed);
        assert!(report.is_clean(), "seed {seed}: {report}");
        assert_eq!(result, expected);
    }
}

#[test]
fn larger_products_are_exact() {
    for (tiles, steps, grid) in [(4, 64, 4), (16, 8, 132)] {
        let (_, _, _, fixed) = run_product(tiles, 0, grid, 1);
        let (report, result, expected, elapsed) = run_product(tiles, steps, grid, 1);
        assert_eq!(result, expected);
        let lanes = f64::from(tiles * TILE).powi(2) * f64::from(steps * DEPTH);
        let rate = lanes / elapsed.as_secs_f64() / 1e6;
        let instructions = report.counts.instructions;
        eprintln!("{lanes:.2e} FMA in {elapsed:?} ({fixed:?} fixed), {rate:.0} M/s, {instructions} instructions");
    }
}
