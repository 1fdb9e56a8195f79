//! Many places that are each compared with many keys are found by sorting, and stay what they are.

use warpweave_graph::expr::AxisKind;
use warpweave_graph::program::passes::sort_keys;
use warpweave_graph::program::text as programs;
use warpweave_graph::program::{Definition, TensorProgram};
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::{Tensors, parse};
use warpweave_graph::{ElementType, Tensor, lower};

/// The most points of an expression that reduces.
fn most_points(program: &TensorProgram) -> usize {
    let points = |definition: &Definition| match definition {
        Definition::Compute(expr) if expr.axes.values().any(|axis| axis.kind == AxisKind::Reduced) => {
            expr.axes.values().map(|axis| axis.extent).product()
        }
        Definition::Compute(_) | Definition::Concat { .. } | Definition::Opaque(_) => 0,
    };
    program.statements.values().map(|statement| points(&statement.definition)).max().unwrap_or(0)
}

/// Updates of some of `places` slices of three elements.
fn scatter(places: usize, updates: usize, reduction: &str, element: &str) -> String {
    format!(
        r#"graph "g"
v0 "x": {element}[{places}x3] = input
v1 "i": i64[{updates}x1] = input
v2 "u": {element}[{updates}x3] = input
v3 "y": {element}[{places}x3] = ScatterND "" (v0, v1, v2) {{reduction = string "{reduction}"}}
output v3
"#
    )
}

fn check(places: usize, updates: usize, reduction: &str, element: &str) -> [usize; 2] {
    let text = scatter(places, updates, reduction, element);
    check_program(&lower(&parse(&text, &Tensors::new()).expect("the graph is well formed")), places)
}

/// The most points of reductions of a program and of what it is sorted, which gives the same.
fn check_program(whole: &TensorProgram, places: usize) -> [usize; 2] {
    let sorted = sort_keys(whole);
    sorted.verify().expect("a pass leaves a valid program");
    let input = |&input: &_| {
        let ty = whole.tensors[input].ty.clone();
        let count = ty.shape.elements();
        let number = |at: usize| match ty.element {
            ElementType::I64 if at + 1 == count => -2.0,
            ElementType::I64 => ((at * at * 31 + at) % 64 * (places / 64)) as f64,
            ElementType::I32 => ((at * at * 31 + at) % 90 * (places / 64)) as f64 - 10.0,
            _ => (at * 7 % 64) as f64,
        };
        Tensor::from_f64(ty.clone(), &(0..count).map(number).collect::<Vec<_>>())
    };
    let inputs: Vec<Tensor> = whole.inputs.iter().map(input).collect();
    assert!(evaluate(&sorted, &inputs) == evaluate(whole, &inputs), "{whole}\n{sorted}");
    [whole, &sorted].map(most_points)
}

#[test]
fn scatters_of_many_places_and_updates_sort() {
    let (places, updates) = (640, 513);
    for (reduction, element) in [
        ("none", "f32"),
        ("none", "u8"),
        ("add", "f32"),
        ("add", "f16"),
        ("add", "i32"),
        ("max", "f32"),
        ("min", "i32"),
        ("mul", "i32"),
    ] {
        let [whole, sorted] = check(places, updates, reduction, element);
        assert!(whole >= places * updates, "{reduction} {element}: {whole} points");
        assert!(sorted < 64 * (places + updates), "{reduction} {element}: {sorted} points");
    }
}

/// Updates along the second dimension of three, fewer than places along the others.
fn scatter_elements(reduction: &str) -> String {
    format!(
        r#"graph "g"
v0 "x": i32[3x320x5] = input
v1 "i": i64[2x257x4] = input
v2 "u": i32[2x257x4] = input
v3 "y": i32[3x320x5] = ScatterElements "" (v0, v1, v2) {{axis = int 1, reduction = string "{reduction}"}}
output v3
"#
    )
}

#[test]
fn rows_with_keys_of_their_own_are_sorted_one_by_one() {
    for reduction in ["none", "add", "mul", "max", "min"] {
        let text = scatter_elements(reduction);
        let whole = lower(&parse(&text, &Tensors::new()).expect("the graph is well formed"));
        let [whole, sorted] = check_program(&whole, 320);
        assert!(whole >= 15 * 320 * 257, "{reduction}: {whole} points");
        assert!(sorted < 64 * 15 * (320 + 257), "{reduction}: {sorted} points");
    }
}

#[test]
fn keys_that_are_those_of_many_rows_are_sorted_once() {
    for reduction in ["none", "add", "max"] {
        let text = format!(
            r#"graph "g"
v0 "x": f32[320x24] = input
v1 "i": i64[257x1] = input
v2 "u": f32[257x24] = input
v3 "s": i64[2] = constant [257, 24]
v4 "e": i64[257x24] = Expand "" (v1, v3)
v5 "y": f32[320x24] = ScatterElements "" (v0, v4, v2) {{axis = int 0, reduction = string "{reduction}"}}
output v5
"#
        );
        let whole = lower(&parse(&text, &Tensors::new()).expect("the graph is well formed"));
        check_program(&whole, 320);
        let sorted = sort_keys(&whole);
        let rows = |definition: &Definition| match definition {
            Definition::Opaque(opaque) => Some(opaque.access.output().shape.elements() / (320 + 257)),
            Definition::Compute(_) | Definition::Concat { .. } => None,
        };
        let most = sorted.statements.values().filter_map(|statement| rows(&statement.definition)).max();
        assert!(most <= Some(1), "{reduction}: {sorted}");
    }
}

#[test]
fn gradients_of_picked_elements_and_keys_that_are_no_places_sort() {
    const PROGRAMS: [&str; 3] = [
        "program\nt0: i64[3x400] = input 0\nt1: f32[3x400] = input 1\n\
         e0 (t0, t1) -> t2: f32[3x300] = [a0<3, a1<300] \
         sum[a2<400] (-a1 + place(x0[a0, a2], 300) in 0..1 ? x1[a0, a2] : 0.0) then mul(reduced, 2.0)\noutput t2 \"y\"\n",
        "program\nt0: i32[400] = input 0\n\
         e0 (t0) -> t1: i32[300] = [a0<300] max[a1<400] select(eq(x0[a1], i32[a0]), i32[a1], -1_i32)\noutput t1 \"y\"\n",
        "program\nt0: i32[400] = input 0\nt1: f32[400] = input 1\n\
         e0 (t0, t1) -> t2: f32[300] = [a0<300] sum[a1<400] select(eq(x0[a1], i32[a0]), x1[a1], 0.0)\noutput t2 \"y\"\n",
    ];
    for text in PROGRAMS {
        let whole = programs::parse(text, &Tensors::new()).expect("the program is well formed");
        let [whole, sorted] = check_program(&whole, 300);
        assert!(sorted < whole / 4, "{text}: {sorted} points");
    }
}

#[test]
fn what_sorting_would_round_or_not_pay_for_is_compared() {
    for (places, updates, reduction, element) in [(256, 256, "none", "f32"), (256, 256, "add", "f32")] {
        let [whole, sorted] = check(places, updates, reduction, element);
        assert_eq!(whole, sorted, "{reduction} {element} of {places} by {updates}");
    }
    let text = "program\nt0: i32[400] = input 0\nt1: f16[400] = input 1\n\
        e0 (t0, t1) -> t2: f16[300] = [a0<300] sum[a1<400] select(eq(x0[a1], i32[a0]), x1[a1], 0.0_f16)\n\
        output t2 \"y\"\n";
    let [whole, sorted] =
        check_program(&programs::parse(text, &Tensors::new()).expect("the program is well formed"), 300);
    assert_eq!(whole, sorted, "{text}");
}
