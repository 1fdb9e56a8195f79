//! Loads and products of matrices.

use warpweave_codegen::emulate::{Device, Fault, LaunchOptions, LaunchReport};
use warpweave_codegen::kernel_ir::{
    Constant, Expression, Function, GlobalSpace, Half, Matrices, MemoryType, Place, RegisterArray, ScalarType,
    SharedArray, SharedId, Statement, Width,
};
use warpweave_codegen::verify::{Flaw, Problem, Scope, verify};
use warpweave_plan::tensor_core::sum::TensorCore;

use crate::build::*;
use crate::matrices;

const THREADS: u32 = 32;

fn run_products(weights: &[u8], options: &LaunchOptions) -> (Vec<u32>, LaunchReport) {
    let (program, tables) = (matrices::program(), matrices::tables());
    assert_eq!(verify(&program), []);
    let mut device = Device::new(&program, &tables, weights, matrices::arena_bytes(), 0).unwrap();
    let report = device.launch(&[], options);
    assert!(report.is_clean(), "{report}");
    let words = device.arena().as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    (words.collect(), report)
}

#[test]
fn products_of_loaded_matrices_are_sums_of_tensor_cores() {
    let mut results = Vec::new();
    for tensor_core in [TensorCore::Ampere, TensorCore::Hopper] {
        for seed in 0..6 {
            let weights = matrices::weights(seed);
            let options = LaunchOptions { tensor_core, ..LaunchOptions::seeded(seed) };
            let (found, _) = run_products(&weights, &options);
            let expected = matrices::expected(tensor_core, &weights);
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let (variant, at) = (matrices::variants()[at / matrices::SUMS], at % matrices::SUMS);
                assert_eq!(found, expected, "{variant:?} at {at}: {found:08x}, not {expected:08x}");
            }
            results.push(found);
        }
    }
    assert_ne!(results[0], results[6], "generations differ in the last bits");
}

#[test]
fn matrices_and_products_are_counted() {
    let options = LaunchOptions { count: true, ..LaunchOptions::seeded(0) };
    let (_, report) = run_products(&matrices::weights(0), &options);
    for (variant, counts) in matrices::variants().into_iter().zip(report.kernel_counts) {
        assert_eq!((counts.tensor_products, counts.float_operations), (2048, 4096), "{variant:?}");
        assert_eq!((counts.shared_loads, counts.shared_load_ideal), (6 * 32, 6), "{variant:?}");
        // Rows of 32 bytes meet the same banks two by two; rows of 16 bytes meet none.
        let expected = if variant.by_columns { 12 } else { 8 + 2 };
        assert_eq!(counts.shared_load_wavefronts, expected, "{variant:?}");
    }
}

/// A kernel that writes some elements of a shared array of 512 and loads four matrices from `index` on.
fn load(written: Vec<Statement>, index: Expression) -> Function {
    let mut kernel = Function::default();
    let array = kernel.shared.push(SharedArray { memory: MemoryType::F16, length: 512 });
    let words = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 4 });
    let place = Place::Element(words, int(0));
    let value = Expression::Element(words, Box::new(int(3)));
    kernel.body = written;
    kernel.body.extend([
        Statement::LoadMatrices { place, array, matrices: Matrices::Four, index, transposed: false },
        Statement::StoreGlobal { memory: MemoryType::I32, index: thread(), values: vec![value] },
    ]);
    kernel
}

/// Stores of sixteen elements by each thread, from `first` on.
fn writes(first: Expression) -> Vec<Statement> {
    let array = array();
    let values = || vec![Expression::f32(1.0); 8];
    let store = |first: Expression| Statement::StoreShared { array, index: first, values: values() };
    vec![store(first.clone()), store(add(first, int(8)))]
}

/// The id of a kernel's first shared array.
fn array() -> SharedId {
    Function::default().shared.push(SharedArray { memory: MemoryType::F16, length: 512 })
}

fn launch(kernel: Function) -> LaunchReport {
    let program = program(THREADS, vec![kernel]);
    let tables = tables(&[vec![run(0, 0, 0)]], &[3]);
    let mut device = Device::new(&program, &tables, &[0; 16], 1024, 0).unwrap();
    device.launch(std::slice::from_ref(&(0..512)), &LaunchOptions { count: true, ..LaunchOptions::seeded(0) })
}

#[track_caller]
fn check(kernel: Function, total: u64, expected: impl Fn(&Fault) -> bool) {
    let report = launch(kernel);
    assert_eq!(report.total, total, "{report}");
    assert!(report.violations.iter().all(|violation| expected(&violation.fault)), "{report}");
}

fn rows() -> Expression {
    multiply(thread(), int(16))
}

#[test]
fn rows_are_in_bounds_aligned_and_written() {
    let complete = |barrier: Statement| [writes(rows()), vec![barrier]].concat();
    let barrier = || Statement::WarpBarrier;
    check(load(complete(barrier()), rows()), 0, |_| false);
    let beyond = add(rows(), int(16));
    check(load(complete(barrier()), beyond), 1, |fault| {
        *fault == Fault::SharedOutOfBounds { index: 512, count: 8, length: 512 }
    });
    let before = subtract(rows(), int(8));
    check(load(complete(barrier()), before), 1, |fault| {
        *fault == Fault::SharedOutOfBounds { index: -8, count: 8, length: 512 }
    });
    check(
        load(complete(barrier()), add(rows(), int(4))),
        32,
        |fault| matches!(fault, Fault::SharedMisaligned { index, count: 8 } if index % 16 == 4),
    );
    check(load(vec![barrier()], rows()), 32, |fault| matches!(fault, Fault::SharedUninitialised { .. }));
    // One element of each row has not been written.
    let store = |at: i32| Statement::StoreShared {
        array: array(),
        index: add(rows(), int(at)),
        values: vec![Expression::f32(1.0)],
    };
    let most = (0..7).map(store).chain([barrier()]).collect();
    check(load(most, rows()), 32, |fault| matches!(fault, Fault::SharedUninitialised { index } if index % 16 == 7));
}

#[test]
fn rows_are_ordered_behind_their_writers() {
    // The lane that names a row has written it, and others receive it.
    check(load(writes(rows()), rows()), 32, |fault| matches!(fault, Fault::SharedRace { .. }));
    let written = [writes(rows()), vec![Statement::WarpBarrier]].concat();
    let mut kernel = load(written, rows());
    kernel.body.extend(writes(rows()));
    let report = launch(kernel.clone());
    assert!(report.total > 0, "a write behind the load needs a barrier");
    assert!(report.violations.iter().all(|violation| matches!(violation.fault, Fault::SharedRace { .. })), "{report}");
    let last = kernel.body.len() - 2;
    kernel.body.insert(last, Statement::WarpBarrier);
    check(kernel, 0, |_| false);
}

#[test]
fn rows_are_not_loaded_before_their_copies_end() {
    let copy = Statement::AsyncCopy {
        array: array(),
        index: int(24),
        space: GlobalSpace::Weights,
        source: int(0),
        width: Width::Eight,
        exists: Expression::Constant(Constant::Bool(true)),
    };
    let copy = when(less(thread(), int(1)), vec![copy]);
    let started = [writes(rows()), vec![Statement::WarpBarrier, copy, Statement::AsyncCommit]].concat();
    let wait = Statement::AsyncWait { pending: 0 };
    let mut kernel = load(started.clone(), multiply(thread(), int(8)));
    kernel.body.extend([Statement::WarpBarrier, wait.clone()]);
    check(kernel, 1, |fault| *fault == Fault::SharedInFlight { index: 24 });
    let waited = [started, vec![wait, Statement::WarpBarrier]].concat();
    check(load(waited, multiply(thread(), int(8))), 0, |_| false);
}

/// A kernel that multiplies words of its lanes.
fn multiply_words(left: usize, right: usize, sums: usize) -> Function {
    let mut kernel = Function::default();
    let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 4 });
    kernel.body = vec![Statement::MultiplyMatrices {
        place: Place::Element(array, int(0)),
        factors: Half::F16,
        left: vec![thread(); left],
        right: vec![thread(); right],
        sums: vec![Expression::f32(0.0); sums],
    }];
    kernel
}

#[test]
fn all_lanes_take_part() {
    let few = |body: Vec<Statement>| vec![when(less(thread(), int(16)), body)];
    let written = [writes(rows()), vec![Statement::WarpBarrier]].concat();
    let mut kernel = load(Vec::new(), rows());
    kernel.body = [written, few(kernel.body)].concat();
    let is =
        |operation: &'static str| move |fault: &Fault| *fault == Fault::DivergentWarp { operation, active: 0xffff };
    check(kernel.clone(), 1, is("a load of matrices"));
    assert_eq!(problems(kernel), [Problem::Divergent { what: "a load of matrices' control flow", scope: Scope::Warp }]);
    let mut kernel = multiply_words(4, 2, 4);
    kernel.body = few(kernel.body);
    check(kernel.clone(), 1, is("a product of matrices"));
    assert_eq!(
        problems(kernel),
        [Problem::Divergent { what: "a product of matrices' control flow", scope: Scope::Warp }]
    );
}

fn problems(kernel: Function) -> Vec<Problem> {
    verify(&program(THREADS, vec![kernel])).into_iter().map(|violation| violation.problem).collect()
}

#[test]
fn operands_of_products_are_verified() {
    assert_eq!(problems(multiply_words(4, 2, 4)), []);
    for (left, right, sums, wrong) in [(3, 2, 4, 3), (4, 4, 4, 4), (4, 2, 2, 2), (4, 2, 0, 0)] {
        assert_eq!(problems(multiply_words(left, right, sums)), [Problem::Flaw(Flaw::Fragment(wrong))]);
    }
    let mut kernel = multiply_words(4, 2, 4);
    let [local, unassigned] = [ScalarType::F32, ScalarType::I32].map(|scalar| kernel.locals.push(scalar));
    let (expected, found) = (ScalarType::I32, ScalarType::F32);
    let Statement::MultiplyMatrices { place, left, .. } = &mut kernel.body[0] else { panic!("a product") };
    (*place, left[1]) = (Place::Local(local), Expression::f32(0.0));
    assert_eq!(problems(kernel.clone()), [Problem::WidePlace, Problem::Type { expected, found }]);
    let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 5 });
    let Statement::MultiplyMatrices { place, left, .. } = &mut kernel.body[0] else { panic!("a product") };
    (*place, left[1]) = (Place::Element(array, int(1)), unassigned.into());
    assert_eq!(problems(kernel.clone()), [Problem::Unassigned(unassigned)]);
    let Statement::MultiplyMatrices { place, left, .. } = &mut kernel.body[0] else { panic!("a product") };
    (*place, left[1]) = (Place::Element(array, int(2)), int(0));
    assert_eq!(problems(kernel), [Problem::ArrayBounds { array, lowest: 2, highest: 5, length: 5 }]);
}

#[test]
fn loads_are_of_elements_of_16_bits_at_rows() {
    let of = |memory, index: i32, count| {
        let mut kernel = Function::default();
        let array = kernel.shared.push(SharedArray { memory, length: 64 });
        let words = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 4 });
        let place = Place::Element(words, int(0));
        kernel.body =
            vec![Statement::LoadMatrices { place, array, matrices: count, index: int(index), transposed: true }];
        problems(kernel)
    };
    for matrices in Matrices::ALL {
        for memory in [MemoryType::F16, MemoryType::BF16, MemoryType::U16] {
            assert_eq!(of(memory, 16, matrices), []);
            assert_eq!(of(memory, 12, matrices), [Problem::Flaw(Flaw::MatrixRow(12))]);
        }
        for memory in [MemoryType::F32, MemoryType::I32] {
            let problems = of(memory, 16, matrices);
            assert!(problems.contains(&Problem::Flaw(Flaw::Width(8))), "{memory:?}: {problems:?}");
        }
    }
}
