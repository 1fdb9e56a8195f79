//! Checks of indices: what they give, what they record, and where the verifier asks for one.

use warpweave_codegen::emulate::{Device, LaunchOptions};
use warpweave_codegen::kernel_ir::{
    Expression, Function, GlobalSpace, LocalId, MemoryType, Place, RegisterArray, ScalarType, SharedArray, ShuffleMode,
    Statement, Width,
};
use warpweave_codegen::verify::{Problem, verify};
use warpweave_plan::plan::index_records::record_words;

use crate::build::*;

const EXTENT: i32 = 10;

/// A value, the place that it names among ten or the nearest one, and whether it names one.
const VALUES: [(i64, i32, bool); 12] = [
    (0, 0, true),
    (9, 9, true),
    (-1, 9, true),
    (-10, 0, true),
    (10, 9, false),
    (-11, 0, false),
    ((1 << 32) + 1, 9, false),
    (-(1 << 32), 0, false),
    (i64::MAX, 9, false),
    (i64::MIN, 0, false),
    (i32::MAX as i64, 9, false),
    (i32::MIN as i64, 0, false),
];

fn check(local: LocalId, value: impl Into<Expression>) -> Statement {
    let (place, value) = (Place::Local(local), value.into());
    Statement::CheckIndex { place, value, extent: int(EXTENT), element: thread(), record: operand(0) }
}

/// Threads whose number is below the count check a value each, of this type in memory, and store the place.
fn kernel(memory: MemoryType, count: usize) -> Function {
    let mut kernel = Function::default();
    let value = kernel.locals.push(memory.scalar_type());
    let place = kernel.locals.push(ScalarType::I32);
    let load = Statement::LoadGlobal {
        place: Place::Local(value),
        space: GlobalSpace::Weights,
        memory,
        width: Width::One,
        index: thread(),
    };
    let store = Statement::StoreGlobal { memory: MemoryType::I32, index: thread(), values: vec![place.into()] };
    kernel.body = vec![when(less(thread(), int(count as i32)), vec![load, check(place, value), store])];
    kernel
}

fn places(memory: MemoryType, values: &[(i64, i32, bool)], weights: &[u8]) {
    let program = program(64, vec![kernel(memory, values.len())]);
    assert_eq!(verify(&program), []);
    let record = 4 * values.len().next_multiple_of(2);
    let tables = tables(&[vec![run(0, 0, 0)]], &[record as i32 / 8]);
    let mut device = Device::new(&program, &tables, weights, record + 16, 0).unwrap();
    let report = device.launch(&[], &LaunchOptions::seeded(1));
    assert!(report.is_clean(), "{report}");
    let found = device.arena()[..4 * values.len()].chunks_exact(4);
    let found: Vec<i32> = found.map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(found, values.iter().map(|(_, place, _)| *place).collect::<Vec<_>>());
    let first = values.iter().position(|(.., names)| !names);
    let expected = first.map_or([0, 0], |first| record_words(first as u32, values[first].0));
    assert_eq!(device.arena()[record..], expected.map(u64::to_le_bytes).concat());
}

#[test]
fn an_index_gives_the_nearest_place_and_the_first_fault_is_recorded() {
    for from in 0..VALUES.len() {
        let values = &VALUES[from..];
        let weights: Vec<u8> = values.iter().flat_map(|(value, ..)| value.to_le_bytes()).collect();
        places(MemoryType::I64, values, &weights);
        let fits = |(value, ..): &&(i64, i32, bool)| i32::try_from(*value).is_ok();
        let narrow: Vec<_> = values.iter().filter(fits).copied().collect();
        let weights: Vec<u8> = narrow.iter().flat_map(|(value, ..)| (*value as i32).to_le_bytes()).collect();
        places(MemoryType::I32, &narrow, &weights);
    }
    let right: Vec<u8> = VALUES[..4].iter().flat_map(|(value, ..)| value.to_le_bytes()).collect();
    places(MemoryType::I64, &VALUES[..4], &right);
}

#[test]
fn a_record_outside_of_the_arena_is_a_fault() {
    let program = program(32, vec![kernel(MemoryType::I64, 1)]);
    for record in [-1, 1, i32::MAX] {
        let tables = tables(&[vec![run(0, 0, 0)]], &[record]);
        let weights = 10i64.to_le_bytes();
        let mut device = Device::new(&program, &tables, &weights, 16, 0).unwrap();
        assert!(!device.launch(&[], &LaunchOptions::seeded(1)).is_clean(), "{record}");
    }
}

/// What the verifier says of a kernel that loads a value, does what `build` makes of it, and stores to the address that it
/// gives.
fn way(build: impl Fn(&mut Function, LocalId) -> (Vec<Statement>, Expression)) -> Vec<Problem> {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::I32);
    let place = Place::Local(value);
    let (space, memory, width) = (GlobalSpace::Arena, MemoryType::I32, Width::One);
    let load = Statement::LoadGlobal { place, space, memory, width, index: thread() };
    let (between, address) = build(&mut kernel, value);
    let write = store(address, Expression::f32(0.0));
    kernel.body = [vec![load], between, vec![write]].concat();
    verify(&program(64, vec![kernel])).into_iter().map(|violation| violation.problem).collect()
}

#[test]
fn what_memory_holds_decides_about_an_address_only_after_a_check() {
    let unchecked = [Problem::UncheckedIndex];
    assert_eq!(way(|_, _| (Vec::new(), thread())), []);
    assert_eq!(way(|_, value| (Vec::new(), value.into())), unchecked);
    assert_eq!(way(|_, value| (Vec::new(), add(multiply(value.into(), int(2)), thread()))), unchecked);
    let through = |statement: fn(Place, Expression) -> Statement| {
        move |kernel: &mut Function, value: LocalId| {
            let other = kernel.locals.push(ScalarType::I32);
            (vec![statement(Place::Local(other), value.into())], other.into())
        }
    };
    assert_eq!(way(through(|place, value| Statement::Assign { place, value })), unchecked);
    assert_eq!(way(through(|place, value| Statement::Shuffle { place, value, mode: ShuffleMode::Xor(1) })), unchecked);
    let checked = through(|place, value| Statement::CheckIndex {
        place,
        value,
        extent: int(EXTENT),
        element: thread(),
        record: int(4),
    });
    assert_eq!(way(checked), []);
    let in_array = |kernel: &mut Function, value: LocalId| {
        let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 1 });
        let place = Place::Element(array, int(0));
        (vec![Statement::Assign { place, value: value.into() }], Expression::Element(array, Box::new(int(0))))
    };
    assert_eq!(way(in_array), unchecked);
    let in_shared = |kernel: &mut Function, value: LocalId| {
        let array = kernel.shared.push(SharedArray { memory: MemoryType::I32, length: 64 });
        let other = kernel.locals.push(ScalarType::I32);
        let (place, width) = (Place::Local(other), Width::One);
        let statements = vec![
            Statement::StoreShared { array, index: thread(), values: vec![value.into()] },
            Statement::LoadShared { place, array, width, index: thread() },
        ];
        (statements, other.into())
    };
    assert_eq!(way(in_shared), unchecked);
}
