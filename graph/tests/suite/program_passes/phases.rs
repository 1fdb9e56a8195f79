//! Sums through a stride take the taps of one phase, and stay what they are.

use warpweave_graph::Tensor;
use warpweave_graph::program::passes::split_phases;
use warpweave_graph::program::text as programs;
use warpweave_graph::program::{Definition, TensorProgram};
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::Tensors;

/// The points of all sums.
fn points(program: &TensorProgram) -> usize {
    let points = |definition: &Definition| match definition {
        Definition::Compute(expr) if expr.reducer.is_some() => expr.axes.values().map(|axis| axis.extent).product(),
        Definition::Compute(_) | Definition::Concat { .. } | Definition::Opaque(_) => 0,
    };
    program.statements.values().map(|statement| points(&statement.definition)).sum()
}

/// The points of a statement over `f32[5x7]` and `f32[7x6]`, before and after; what it gives stays.
#[track_caller]
fn check(statement: &str) -> [usize; 2] {
    let text = format!(
        "program\nn0 = \"Sum\" \"sum\" gives \"y\"\nt0 \"w\": f32[5x7] = input 0\nt1 \"x\": f32[7x6] = input 1\n\
         e0 (t0, t1) -> t2 \"y\": {statement} from n0\noutput t2 \"y\"\n"
    );
    let whole = programs::parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    whole.verify().expect("the program is valid");
    let split = split_phases(&whole, 1);
    split.verify().expect("a pass leaves a valid program");
    let input = |&input: &_| {
        let ty = whole.tensors[input].ty.clone();
        let elements: Vec<f64> = (0..ty.shape.elements()).map(|at| (at * 7 % 11) as f64 - 4.0).collect();
        Tensor::from_f64(ty, &elements)
    };
    let inputs: Vec<Tensor> = whole.inputs.iter().map(input).collect();
    assert!(evaluate(&split, &inputs) == evaluate(&whole, &inputs), "{whole}\n{split}");
    [&whole, &split].map(points)
}

/// The gradient of a convolution of `positions` positions through `taps` taps, shifted to the left.
fn gradient(positions: usize, taps: usize, stride: usize, shift: usize) -> [usize; 2] {
    let distance = format!("a1 - a3 + {shift}").replace(" + 0", "");
    check(&format!(
        "f32[7x{positions}] = with %0 = (div({distance}, {stride}) in 0..6, mod({distance}, {stride}) in 0..1 \
         ? x1[a0, div({distance}, {stride})] : 0.0), %1 = x0[a2, a3]: \
         [a0<7, a1<{positions}] sum[a2<5, a3<{taps}] mul(%0, %1)"
    ))
}

#[test]
fn a_gradient_through_a_stride_takes_the_taps_of_a_phase() {
    // Positions, taps, stride and shift; quotients, phases and taps of a phase.
    for ([positions, taps, stride, shift], parts) in [
        ([12, 3, 2, 1], [7, 2, 2]),
        ([12, 4, 2, 1], [7, 2, 2]),
        ([12, 3, 2, 0], [6, 2, 2]),
        ([11, 3, 2, 1], [6, 2, 2]),
        ([13, 5, 3, 2], [5, 3, 2]),
        ([12, 7, 3, 1], [5, 3, 3]),
        // Phases without taps are zeros.
        ([12, 1, 2, 0], [6, 1, 1]),
        ([13, 2, 4, 0], [4, 2, 1]),
        ([12, 2, 4, 3], [4, 2, 1]),
    ] {
        let [whole, split] = gradient(positions, taps, stride, shift);
        let case = format!("{positions} positions, {taps} taps, stride {stride}, shift {shift}");
        assert_eq!(whole, 7 * positions * 5 * taps, "{case}");
        assert_eq!(split, 7 * 5 * parts.iter().product::<usize>(), "{case}");
    }
}

#[test]
fn what_reads_each_stride_is_moved_alone() {
    let [whole, split] = check(
        "f32[7x12] = with %0 = (mod(a1 + 1, 2) in 0..1 ? x1[a0, div(a1, 2)] : 0.0), %1 = x0[a2, 0]: \
         [a0<7, a1<12] sum[a2<5] mul(%0, %1)",
    );
    assert_eq!([whole, split], [420, 245]);
}

#[test]
fn a_chosen_value_is_left_out_with_what_chooses_it() {
    let [whole, split] = check(
        "f32[7x12] = with %0 = (div(a1 - a2, 2) in 0..6, mod(a1 - a2, 2) in 0..1 ? x1[a0, div(a1 - a2, 2)] : 0.0): \
         [a0<7, a1<12] sum[a2<3] select(lt(x0[0, a2], x1[a2, 0]), %0, 0.0)",
    );
    assert_eq!([whole, split], [252, 168]);
}

#[test]
fn what_follows_a_sum_is_applied_to_every_position() {
    let [whole, split] = check(
        "f32[7x12] = with %0 = (div(a1 - a2, 3) in 0..4, mod(a1 - a2, 3) in 0..1 ? x1[a0, div(a1 - a2, 3)] : 0.0): \
         [a0<7, a1<12] sum[a2<2] %0 then add(reduced, 2.0)",
    );
    assert_eq!([whole, split], [168, 84]);
}

#[test]
fn other_sums_stay() {
    for statement in [
        // The fill is no zero.
        "f32[7x12] = with %0 = (mod(a1 - a2, 2) in 0..1 ? x1[a0, a2] : 1.0): [a0<7, a1<12] sum[a2<3] %0",
        // What is not read counts too.
        "f32[7x12] = with %0 = (mod(a1 - a2, 2) in 0..1 ? x1[a0, a2] : 0.0): [a0<7, a1<12] sum[a2<3] add(%0, 1.0)",
        // No stride between a position and a tap.
        "f32[7x12] = with %0 = (mod(a1 + a2, 2) in 0..1 ? x1[a0, a2] : 0.0): [a0<7, a1<12] sum[a2<3] %0",
        "f32[7x12] = with %0 = (mod(a1 - a2, 2) in 1..2 ? x1[a0, a2] : 0.0): [a0<7, a1<12] sum[a2<3] %0",
        "f32[7x12] = with %0 = (mod(a1 - a2, 2) in 0..1 ? x1[a0, a2] : 0.0): [a0<7, a1<12] max[a2<3] %0",
    ] {
        let [whole, split] = check(statement);
        assert_eq!(whole, split, "{statement}");
    }
}
