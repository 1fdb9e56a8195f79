//! Faults of memory and control flow inside a kernel.

use warpweave_codegen::emulate::{Device, Fault, LaunchOptions, LaunchReport, PrepareError};
use warpweave_codegen::kernel_ir::{
    BinaryOp, Constant, Entry, Expression, Function, GlobalSpace, LocalId, MemoryType, Place, Program, RegisterArray,
    ScalarType, SharedArray, SharedId, ShuffleMode, Statement, Width,
};
use warpweave_codegen::nodes;
use warpweave_graph::arena::Id;
use warpweave_plan::tables::{Launch, NodeLaunch, Tables};

use crate::build::*;

const THREADS: u32 = 64;

/// Runs one kernel once in one block, on 1 KiB of arena of which the first half is initialised.
fn launch(kernel: Function, seed: u64) -> LaunchReport {
    let program = program(THREADS, vec![kernel]);
    let tables = tables(&[vec![run(0, 0, 0)]], &[3]);
    let weights = [0; 16];
    let mut device = Device::new(&program, &tables, &weights, 1024, 0).unwrap();
    device.launch(std::slice::from_ref(&(0..512)), &LaunchOptions { count: true, ..LaunchOptions::seeded(seed) })
}

fn check(kernel: Function, expected: impl Fn(&Fault) -> bool) {
    for seed in 0..10 {
        let report = launch(kernel.clone(), seed);
        assert!(report.violations.iter().any(|violation| expected(&violation.fault)), "seed {seed}: {report}");
    }
}

fn check_clean(kernel: Function) {
    for seed in 0..10 {
        let report = launch(kernel.clone(), seed);
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}

/// A kernel with a shared array of 64 `F32` and the statements that `body` makes of it and a local.
fn with_shared(body: impl FnOnce(Statement, Statement) -> Vec<Statement>) -> Function {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::F32);
    let array = kernel.shared.push(SharedArray { memory: MemoryType::F32, length: THREADS });
    let write = Statement::StoreShared { array, index: thread(), values: vec![Expression::f32(1.0)] };
    let read = Statement::LoadShared {
        place: Place::Local(value),
        array,
        width: Width::One,
        index: subtract(int(THREADS as i32 - 1), thread()),
    };
    kernel.body = body(write, read);
    kernel
}

#[test]
fn shared_exchange_needs_a_barrier() {
    check_clean(with_shared(|write, read| vec![write, Statement::BlockBarrier, read]));
    check(with_shared(|write, read| vec![write, read]), |fault| {
        matches!(fault, Fault::SharedRace { .. } | Fault::SharedUninitialised { .. })
    });
    check(with_shared(|write, read| vec![write.clone(), Statement::BlockBarrier, read, write]), |fault| {
        matches!(fault, Fault::SharedRace { .. })
    });
}

#[test]
fn lanes_of_a_warp_need_a_warp_barrier() {
    let exchange = |middle: Option<Statement>| {
        let mut kernel = Function::default();
        let value = kernel.locals.push(ScalarType::F32);
        let array = kernel.shared.push(SharedArray { memory: MemoryType::F32, length: THREADS });
        let neighbour = Expression::binary(BinaryOp::BitXor, thread(), int(1));
        kernel.body = vec![Statement::StoreShared { array, index: thread(), values: vec![Expression::f32(1.0)] }];
        kernel.body.extend(middle);
        let place = Place::Local(value);
        kernel.body.push(Statement::LoadShared { place, array, width: Width::One, index: neighbour });
        kernel
    };
    check_clean(exchange(Some(Statement::WarpBarrier)));
    check(exchange(None), |fault| matches!(fault, Fault::SharedRace { .. }));
}

#[test]
fn shared_memory_is_undefined_at_entry() {
    check(with_shared(|_, read| vec![read]), |fault| matches!(fault, Fault::SharedUninitialised { .. }));
    let kernels = vec![with_shared(|write, _| vec![write]), with_shared(|_, read| vec![read])];
    let program = program(THREADS, kernels);
    let tables = tables(&[vec![run(0, 0, 0), run(1, 0, 0)]], &[]);
    let mut device = Device::new(&program, &tables, &[], 0, 0).unwrap();
    let report = device.launch(&[], &LaunchOptions::seeded(0));
    assert_eq!(report.total, u64::from(THREADS));
}

#[test]
fn accesses_stay_in_bounds_and_aligned() {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::F32);
    kernel.body = vec![load(Place::Local(value), GlobalSpace::Weights, thread())];
    let report = launch(kernel, 0);
    assert_eq!(report.total, 60);
    assert!(report.violations.iter().any(|violation| (violation.site.warp, violation.site.lane) == (0, 4)));

    let kernel =
        Function { body: vec![store(subtract(thread(), int(1)), Expression::f32(0.0))], ..Function::default() };
    check(kernel, |fault| matches!(fault, Fault::GlobalOutOfBounds { address: -4, .. }));

    let mut kernel = Function::default();
    let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 4 });
    kernel.body = vec![Statement::LoadGlobal {
        place: Place::Element(array, int(0)),
        space: GlobalSpace::Arena,
        memory: MemoryType::F32,
        width: Width::Four,
        index: thread(),
    }];
    check(kernel, |fault| matches!(fault, Fault::GlobalMisaligned { address: 4, bytes: 16, .. }));

    let mut kernel = with_shared(|_, _| Vec::new());
    let (array, _) = kernel.shared.iter().next().unwrap();
    kernel.body =
        vec![Statement::StoreShared { array, index: add(thread(), int(1)), values: vec![Expression::f32(1.0)] }];
    check(kernel, |fault| matches!(fault, Fault::SharedOutOfBounds { index: 64, .. }));
}

#[test]
fn uninitialised_arena_is_reported() {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::F32);
    kernel.body = vec![load(Place::Local(value), GlobalSpace::Arena, add(thread(), int(65)))];
    let report = launch(kernel, 0);
    assert_eq!(report.total, 1);
    assert_eq!(report.violations[0].fault, Fault::GlobalUninitialised { address: 512 });
}

#[test]
fn bytes_of_a_word_are_apart() {
    let bytes = |scale: i32| {
        let mut kernel = Function::default();
        let value = kernel.locals.push(ScalarType::I32);
        let memory = MemoryType::U8;
        kernel.body = vec![
            Statement::StoreGlobal { memory, index: multiply(thread(), int(scale)), values: vec![thread()] },
            Statement::LoadGlobal {
                place: Place::Local(value),
                space: GlobalSpace::Arena,
                memory,
                width: Width::One,
                index: multiply(thread(), int(scale)),
            },
        ];
        kernel
    };
    check_clean(bytes(1));
    check(bytes(0), |fault| matches!(fault, Fault::GlobalOverlap { .. } | Fault::GlobalRace { .. }));
    // Two warps interleave their bytes in every word.
    let mut kernel = bytes(1);
    let warp = Expression::binary(BinaryOp::ShiftRight, thread(), int(5));
    let lane = Expression::binary(BinaryOp::BitAnd, thread(), int(31));
    let index = add(multiply(lane, int(2)), warp);
    kernel.body = vec![Statement::StoreGlobal { memory: MemoryType::U8, index, values: vec![thread()] }];
    check_clean(kernel);
}

#[test]
fn divergence_is_reported() {
    let kernel =
        Function { body: vec![when(less(thread(), int(7)), vec![Statement::BlockBarrier])], ..Function::default() };
    check(kernel, |fault| *fault == Fault::DivergentBarrier);

    let kernel =
        Function { body: vec![when(less(thread(), int(32)), vec![Statement::BlockBarrier])], ..Function::default() };
    check(kernel, |fault| *fault == Fault::DivergentBarrier);

    let mut kernel = Function::default();
    let place = Place::Local(kernel.locals.push(ScalarType::I32));
    let shuffle = Statement::Shuffle { place, value: thread(), mode: ShuffleMode::Xor(1) };
    kernel.body = vec![when(less(thread(), int(7)), vec![shuffle])];
    check(kernel, |fault| *fault == Fault::DivergentWarp { operation: "a shuffle", active: 0x7f });
}

#[test]
fn register_arrays_are_checked() {
    let kernel = |index: Expression| {
        let mut kernel = Function::default();
        let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 4 });
        let place = Place::Element(array, index);
        kernel.body = vec![Statement::Assign { place, value: int(1) }];
        kernel
    };
    check_clean(kernel(int(3)));
    check_clean(kernel(operand(0)));
    check(kernel(int(4)), |fault| *fault == Fault::ArrayOutOfBounds { index: 4, length: 4 });
    check(kernel(add(operand(0), int(1))), |fault| *fault == Fault::ArrayOutOfBounds { index: 4, length: 4 });
}

#[test]
fn endless_runs_end() {
    let mut kernel = Function::default();
    let variable = kernel.locals.push(ScalarType::I32);
    kernel.body = vec![Statement::For { variable, extent: int(i32::MAX), unroll: false, body: Vec::new() }];
    let program = program(THREADS, vec![kernel]);
    let tables = tables(&[vec![run(0, 0, 0)]], &[]);
    let mut device = Device::new(&program, &tables, &[], 0, 0).unwrap();
    let report = device.launch(&[], &LaunchOptions { step_budget: 10_000, ..LaunchOptions::seeded(0) });
    assert_eq!(report.violations[0].fault, Fault::StepBudget { limit: 10_000 });
}

#[test]
fn a_stream_that_names_no_kernel_ends_the_launch() {
    let program = program(THREADS, vec![Function::default()]);
    let tables = tables(&[vec![run(1, 0, 0)]], &[]);
    let mut device = Device::new(&program, &tables, &[], 0, 0).unwrap();
    let report = device.launch(&[], &LaunchOptions::seeded(0));
    assert_eq!(report.violations[0].fault, Fault::UnknownKernel { number: 1 });
    assert!(!report.completed);
}

#[test]
fn malformed_programs_are_refused() {
    let kernel = Function { body: vec![store(thread(), thread())], ..Function::default() };
    let program = program(THREADS, vec![kernel]);
    let tables = tables(&[], &[]);
    let refused = Device::new(&program, &tables, &[], 0, 0).err();
    assert!(matches!(refused, Some(PrepareError::Malformed(_))));
}

#[test]
fn launches_need_their_entries() {
    let streams = program(THREADS, vec![Function::default()]);
    let node = Launch::Node(NodeLaunch { kernel: 0, operands: 0, blocks: 1 });
    let of_node = Tables { launches: vec![node], ..Tables::default() };
    let refused = |program: &Program, tables: &Tables| Device::new(program, tables, &[], 0, 0).err();
    assert_eq!(refused(&streams, &of_node), Some(PrepareError::UnknownKernel(0)));
    let kernels = streams.kernels.clone();
    let nodes =
        Program { entry: Entry::Nodes(kernels.ids().map(|id| nodes::entry(id, &kernels)).collect()), ..streams };
    assert_eq!(refused(&nodes, &of_node), None);
    assert_eq!(refused(&nodes, &tables(&[vec![run(0, 0, 0)]], &[])), Some(PrepareError::NoStreamEntry));
}

/// A kernel that copies a word a thread from the arena into shared memory, and what `body` makes of the copy and a read
/// of the thread's own word.
fn with_copy(body: impl FnOnce(Statement, Statement) -> Vec<Statement>) -> Function {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::F32);
    let array = kernel.shared.push(SharedArray { memory: MemoryType::F32, length: THREADS });
    let copy = Statement::AsyncCopy {
        array,
        index: thread(),
        space: GlobalSpace::Arena,
        source: thread(),
        width: Width::One,
        exists: Expression::Constant(Constant::Bool(true)),
    };
    let read = Statement::LoadShared { place: Place::Local(value), array, width: Width::One, index: thread() };
    kernel.body = body(copy, read);
    kernel.body.push(store(add(thread(), int(THREADS as i32 * 2)), value.into()));
    kernel
}

#[test]
fn copies_arrive_when_they_are_waited_for() {
    use Statement::{AsyncCommit, AsyncWait};
    check_clean(with_copy(|copy, read| vec![copy, AsyncCommit, AsyncWait { pending: 0 }, read]));
    let early = with_copy(|copy, read| vec![copy, AsyncCommit, read, AsyncWait { pending: 0 }]);
    check(early, |fault| matches!(fault, Fault::SharedInFlight { .. }));
    let behind_a_barrier =
        with_copy(|copy, read| vec![copy, AsyncCommit, Statement::BlockBarrier, read, AsyncWait { pending: 0 }]);
    check(behind_a_barrier, |fault| matches!(fault, Fault::SharedInFlight { .. }));
    let one_group_too_few = with_copy(|copy, read| {
        vec![copy, AsyncCommit, AsyncCommit, AsyncWait { pending: 2 }, read, AsyncWait { pending: 0 }]
    });
    check(one_group_too_few, |fault| matches!(fault, Fault::SharedInFlight { .. }));
    let never = with_copy(|copy, read| vec![read, copy, AsyncCommit]);
    check(never, |fault| matches!(fault, Fault::CopiesInFlight { groups: 1 }));
}

#[test]
fn other_threads_see_a_copy_after_a_barrier() {
    let exchange = |barrier: Option<Statement>| {
        let mut kernel = with_copy(|copy, _| vec![copy, Statement::AsyncCommit, Statement::AsyncWait { pending: 0 }]);
        let last = kernel.body.pop();
        kernel.body.extend(barrier);
        kernel.body.push(Statement::LoadShared {
            place: Place::Local(LocalId::from_index(0)),
            array: SharedId::from_index(0),
            width: Width::One,
            index: subtract(int(THREADS as i32 - 1), thread()),
        });
        kernel.body.extend(last);
        kernel
    };
    check_clean(exchange(Some(Statement::BlockBarrier)));
    check(exchange(None), |fault| matches!(fault, Fault::SharedRace { .. }));
}
