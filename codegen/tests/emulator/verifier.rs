//! The kernel IR verifier, one violation at a time.

use warpweave_codegen::kernel_ir::{
    BinaryOp, Body, Builtin, CallOperands, Constant, ControlWord, Entry, Expression, Function, GlobalSpace, KernelId,
    MemoryOrder, MemoryType, MixedEntries, Place, Program, RegisterArray, ScalarType, SharedArray, SharedId,
    ShuffleMode, Statement, Table, UnaryOp, Width,
};
use warpweave_codegen::verify::{Flaw, Problem, Scope, verify};
use warpweave_codegen::{nodes, persistent};
use warpweave_graph::arena::{Arena, Id};

use crate::build::*;

fn problems(kernel: Function) -> Vec<Problem> {
    verify(&program(64, vec![kernel])).into_iter().map(|violation| violation.problem).collect()
}

fn assign(local: impl Into<Expression>, value: Expression) -> Statement {
    let Expression::Local(local) = local.into() else { panic!("a variable") };
    Statement::Assign { place: Place::Local(local), value }
}

#[test]
fn the_entry_is_sound_for_any_number_of_kernels() {
    for count in [0, 1, 7] {
        assert_eq!(verify(&program(64, vec![Function::default(); count])), []);
    }
}

#[test]
fn locations_name_the_statement() {
    let kernel =
        Function { body: vec![when(int(1), vec![Statement::BlockBarrier, Statement::Break])], ..Function::default() };
    let violations = verify(&program(64, vec![kernel]));
    let names: Vec<String> = violations.iter().map(|violation| violation.location.to_string()).collect();
    assert_eq!(names, ["k0 at 0", "k0 at 0.0.1", "k0 at 0.0.1"]);
    assert_eq!(violations[0].location.body, Body::Kernel(KernelId::from_index(0)));
}

#[test]
fn types_are_checked() {
    let mut kernel = Function::default();
    let local = kernel.locals.push(ScalarType::F32);
    kernel.body = vec![
        assign(local, int(1)),
        assign(local, add(Expression::f32(1.0), int(1))),
        assign(local, Expression::Unary(UnaryOp::Not, Box::new(Expression::f32(1.0)))),
        assign(local, Expression::binary(BinaryOp::BitAnd, local.into(), local.into())),
        Statement::StoreGlobal { memory: MemoryType::I32, index: Expression::f32(0.0), values: vec![int(1)] },
    ];
    let (expected, found) = (ScalarType::F32, ScalarType::I32);
    assert_eq!(
        problems(kernel),
        [
            Problem::Type { expected, found },
            Problem::Type { expected, found },
            Problem::Undefined { operation: "Not".into(), scalar: ScalarType::F32 },
            Problem::Undefined { operation: "BitAnd".into(), scalar: ScalarType::F32 },
            Problem::Type { expected: ScalarType::I64, found: ScalarType::F32 },
        ]
    );
}

#[test]
fn variables_are_assigned_on_every_path() {
    let check = |body: fn(Statement, Statement) -> Vec<Statement>| {
        let mut kernel = Function::default();
        let [local, other] = std::array::from_fn(|_| kernel.locals.push(ScalarType::I32));
        kernel.body = body(assign(local, int(1)), assign(other, local.into()));
        problems(kernel).len()
    };
    assert_eq!(check(|write, read| vec![write, read]), 0);
    assert_eq!(check(|_, read| vec![read]), 1);
    assert_eq!(check(|write, read| vec![when(less(thread(), int(1)), vec![write]), read]), 1);
    let both = |write: Statement, read| {
        let condition = less(thread(), int(1));
        vec![Statement::If { condition, then: vec![write.clone()], otherwise: vec![write] }, read]
    };
    assert_eq!(check(both), 0);
    for (extent, unroll, expected) in [(1, true, 0), (0, true, 1), (3, false, 0)] {
        let mut kernel = Function::default();
        let [local, other, variable] = std::array::from_fn(|_| kernel.locals.push(ScalarType::I32));
        let body = vec![assign(local, variable.into())];
        kernel.body = vec![Statement::For { variable, extent: int(extent), unroll, body }, assign(other, local.into())];
        assert_eq!(problems(kernel).len(), expected);
    }
}

#[test]
fn loops_are_checked() {
    let mut kernel = Function::default();
    let variable = kernel.locals.push(ScalarType::I32);
    let body = vec![assign(variable, int(1))];
    kernel.body = vec![Statement::For { variable, extent: operand(0), unroll: true, body }, assign(variable, int(0))];
    assert_eq!(problems(kernel), [Problem::Flaw(Flaw::UnrolledExtent), Problem::LoopVariable(variable)]);
}

#[test]
fn arrays_stay_in_registers_and_in_bounds() {
    let mut kernel = Function::default();
    let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 8 });
    let [i, j] = std::array::from_fn(|_| kernel.locals.push(ScalarType::I32));
    let write = |index| Statement::Assign { place: Place::Element(array, index), value: int(0) };
    let unrolled = |variable, extent, body| Statement::For { variable, extent: int(extent), unroll: true, body };
    let index = || add(multiply(i.into(), int(4)), j.into());
    kernel.body = vec![
        unrolled(i, 2, vec![unrolled(j, 4, vec![write(index())])]),
        unrolled(i, 2, vec![unrolled(j, 5, vec![write(index())])]),
        unrolled(i, 9, vec![when(less(i.into(), int(8)), vec![write(i.into())])]),
        write(operand(0)),
        Statement::LoadGlobal {
            place: Place::Element(array, int(5)),
            space: GlobalSpace::Weights,
            memory: MemoryType::I32,
            width: Width::Four,
            index: int(0),
        },
    ];
    assert_eq!(
        problems(kernel),
        [
            Problem::ArrayBounds { array, lowest: 0, highest: 8, length: 8 },
            Problem::DynamicIndex(array),
            Problem::ArrayBounds { array, lowest: 5, highest: 8, length: 8 },
        ]
    );
}

#[test]
fn polls_stay_in_their_arrays() {
    let mut kernel = Function::default();
    let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 4 });
    let poll = |first, count| {
        let place = Place::Element(array, int(first));
        Statement::LoadTagged { place, count, index: int(0), apart: Some(int(7)), tag: int(0) }
    };
    kernel.body = vec![poll(0, 4), poll(1, 4), poll(0, 9)];
    assert_eq!(
        problems(kernel.clone()),
        [Problem::Flaw(Flaw::TaggedCount(9))],
        "the structure is checked before the indices"
    );
    kernel.body.pop();
    assert_eq!(problems(kernel), [Problem::ArrayBounds { array, lowest: 1, highest: 4, length: 4 }]);
}

#[test]
fn barriers_stand_in_uniform_control_flow() {
    let barrier = || vec![Statement::BlockBarrier];
    let guarded = |condition: Expression, inner: Vec<Statement>| {
        let kernel = Function { body: vec![when(condition, inner)], ..Function::default() };
        problems(kernel)
    };
    let divergent = |what, scope| vec![Problem::Divergent { what, scope }];
    assert_eq!(guarded(less(operand(0), Expression::Tile), barrier()), []);
    assert_eq!(guarded(less(Expression::Builtin(Builtin::Block), int(3)), barrier()), []);
    assert_eq!(guarded(less(thread(), int(3)), barrier()), divergent("a barrier's control flow", Scope::Block));

    let warp = Expression::binary(BinaryOp::ShiftRight, thread(), int(5));
    let first_warp = || Expression::binary(BinaryOp::Equal, warp.clone(), int(0));
    assert_eq!(guarded(first_warp(), barrier()), divergent("a barrier's control flow", Scope::Block));
    assert_eq!(guarded(first_warp(), vec![Statement::WarpBarrier]), []);
    assert_eq!(guarded(less(thread(), int(32)), vec![Statement::WarpBarrier]), []);

    let mut kernel = Function::default();
    let [x, y, flag] = [ScalarType::I32, ScalarType::I32, ScalarType::Bool].map(|scalar| kernel.locals.push(scalar));
    let shuffle = Statement::Shuffle { place: Place::Local(x), value: y.into(), mode: ShuffleMode::Xor(1) };
    let any = Statement::BlockBarrierOr { place: Place::Local(flag), condition: less(thread(), int(3)) };
    kernel.body = vec![
        assign(y, thread()),
        shuffle.clone(),
        any,
        when(flag.into(), barrier()),
        when(less(y.into(), int(3)), vec![shuffle]),
    ];
    assert_eq!(problems(kernel), divergent("a shuffle's control flow", Scope::Warp));
}

#[test]
fn statements_belong_into_their_body() {
    let mut kernel = Function::default();
    let place = Place::Local(kernel.locals.push(ScalarType::I32));
    kernel.body = vec![
        Statement::LoadControl { place: place.clone(), word: ControlWord::Epoch },
        Statement::LoadTable { place, table: Table::Operands, index: int(0) },
    ];
    assert_eq!(problems(kernel), [Problem::Misplaced("LoadControl"), Problem::Misplaced("LoadTable")]);

    let mut program = program(64, Vec::new());
    let [first, second] = [0, 1].map(KernelId::from_index);
    let mut entry = persistent::entry(&Arena::new());
    entry.body.extend([first, second].map(call));
    entry.body.push(store(Expression::Tile, Expression::f32(0.0)));
    program.entry = Entry::Persistent(entry);
    let problems: Vec<Problem> = verify(&program).into_iter().map(|violation| violation.problem).collect();
    assert_eq!(
        problems,
        [Problem::UnknownId("k0".into()), Problem::UnknownId("k1".into()), Problem::Misplaced("Operand or Tile"),]
    );
}

#[test]
fn nodes_of_a_program_of_both_kinds_are_checked() {
    let [first, second, unknown] = [0, 1, 2].map(KernelId::from_index);
    let poll = |kernel: &mut Function| {
        let place = Place::Local(kernel.locals.push(ScalarType::F32));
        kernel.body = vec![Statement::LoadTagged { place, count: 1, index: int(0), apart: None, tag: int(0) }];
    };
    let check = |node: KernelId, entry: Function| {
        let mut program = program(64, vec![Function::default(); 2]);
        poll(&mut program.kernels[second]);
        let Entry::Persistent(persistent) = program.entry else { unreachable!("streams are launched") };
        program.entry = Entry::Mixed(MixedEntries { persistent, nodes: [(node, entry)].into() });
        verify(&program).into_iter().map(|violation| violation.problem).collect::<Vec<Problem>>()
    };
    let none = Arena::new();
    assert_eq!(check(first, nodes::entry(first, &none)), []);
    assert_eq!(check(first, Function::default()), [Problem::NoDependencyWait]);
    assert_eq!(check(second, nodes::entry(second, &none)), [Problem::Misplaced("LoadTagged")]);
    assert_eq!(check(unknown, nodes::entry(first, &none)), [Problem::UnknownId("k2".into())]);
}

#[test]
fn a_kernel_waits_once_and_touches_the_arena_afterwards() {
    let waits = || Statement::Await { order: MemoryOrder::Acquire, loaded: Vec::new() };
    let write = || store(Expression::Tile, Expression::f32(0.0));
    let check = |body| problems(Function { body, ..Function::default() });
    assert_eq!(check(vec![waits(), write()]), []);
    assert_eq!(check(vec![write(), waits()]), [Problem::BeforeWaits]);
    assert_eq!(check(vec![when(less(int(0), int(1)), vec![write()]), waits()]), [Problem::BeforeWaits]);
    let misplaced = [Problem::Misplaced("a second await or second steps, or some in an inner block")];
    assert_eq!(check(vec![waits(), waits()]), misplaced);
    let mut nested = program(64, vec![Function::default()]);
    nested.kernels[KernelId::from_index(0)].body = vec![when(less(int(0), int(1)), vec![waits()])];
    let problems =
        |program: &Program| verify(program).into_iter().map(|violation| violation.problem).collect::<Vec<_>>();
    assert_eq!(problems(&nested), misplaced);
    let kernel = KernelId::from_index(0);
    nested.kernels[kernel].body = vec![waits()];
    assert_eq!(problems(&nested), [], "a dispatch says which waits its kernel does");
    nested.entry.persistent_mut().expect("streams are launched").body.push(call(kernel));
    assert_eq!(problems(&nested), [Problem::CallWaits(kernel)]);
}

/// A call that has no waits, in an entry that walks streams.
fn call(kernel: KernelId) -> Statement {
    let operands = CallOperands { array: SharedId::from_index(0), index: int(0), first: int(0) };
    Statement::Call { kernel, operands, tile: int(0) }
}

#[test]
fn widths_and_ids_are_checked() {
    let mut kernel = Function::default();
    let local = kernel.locals.push(ScalarType::F32);
    let mut other = Function::default();
    other.locals.push(ScalarType::F32);
    let unknown = other.locals.push(ScalarType::F32);
    let halves = kernel.shared.push(SharedArray { memory: MemoryType::F16, length: 16 });
    let copy = |width: Width| Statement::AsyncCopy {
        array: halves,
        index: int(0),
        space: GlobalSpace::Arena,
        source: int(0),
        width,
        exists: Expression::Constant(Constant::Bool(true)),
    };
    kernel.body = vec![
        Statement::StoreGlobal { memory: MemoryType::F32, index: int(0), values: vec![Expression::f32(0.0); 3] },
        Statement::StoreGlobal { memory: MemoryType::F32, index: int(0), values: vec![Expression::f32(0.0); 8] },
        Statement::StoreGlobal { memory: MemoryType::BF16, index: int(0), values: vec![Expression::f32(0.0); 8] },
        copy(Width::One),
        copy(Width::Two),
        copy(Width::Eight),
        Statement::LoadGlobal {
            place: Place::Local(local),
            space: GlobalSpace::Arena,
            memory: MemoryType::F32,
            width: Width::Two,
            index: int(0),
        },
        assign(unknown, Expression::f32(0.0)),
        Statement::Shuffle { place: Place::Local(local), value: Expression::f32(0.0), mode: ShuffleMode::Xor(32) },
    ];
    assert_eq!(
        problems(kernel),
        [
            Problem::Flaw(Flaw::Width(3)),
            Problem::Flaw(Flaw::Width(8)),
            Problem::Flaw(Flaw::Width(1)),
            Problem::WidePlace,
            Problem::UnknownId("v1".into()),
            Problem::Flaw(Flaw::ShuffleLane(32)),
        ]
    );
}
