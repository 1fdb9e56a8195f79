//! Many places that are each compared with many keys are found by sorting, and stay what they are.

use warpweave_graph::expr::AxisKind;
use warpweave_graph::program::passes::sort_keys;
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
    let whole = lower(&parse(&text, &Tensors::new()).expect("the graph is well formed"));
    let sorted = sort_keys(&whole);
    sorted.verify().expect("a pass leaves a valid program");
    let input = |&input: &_| {
        let ty = whole.tensors[input].ty.clone();
        let count = ty.shape.elements();
        let number = |at: usize| match ty.element {
            ElementType::I64 if at + 1 == count => -2.0,
            ElementType::I64 => ((at * at * 31 + at) % 64 * (places / 64)) as f64,
            _ => (at * 7 % 64) as f64,
        };
        Tensor::from_f64(ty.clone(), &(0..count).map(number).collect::<Vec<_>>())
    };
    let inputs: Vec<Tensor> = whole.inputs.iter().map(input).collect();
    assert_eq!(evaluate(&sorted, &inputs), evaluate(&whole, &inputs), "{reduction} {element}");
    [&whole, &sorted].map(most_points)
}

#[test]
fn scatters_of_many_places_and_updates_sort() {
    let (places, updates) = (640, 513);
    for (reduction, element) in [("none", "f32"), ("none", "u8"), ("add", "f32"), ("add", "i32")] {
        let [whole, sorted] = check(places, updates, reduction, element);
        assert!(whole >= places * updates, "{reduction} {element}: {whole} points");
        assert!(sorted < 64 * (places + updates), "{reduction} {element}: {sorted} points");
    }
}

#[test]
fn what_sorting_would_round_or_not_pay_for_is_compared() {
    for (places, updates, reduction, element) in
        [(640, 513, "add", "f16"), (640, 513, "max", "f32"), (256, 256, "none", "f32"), (256, 256, "add", "f32")]
    {
        let [whole, sorted] = check(places, updates, reduction, element);
        assert_eq!(whole, sorted, "{reduction} {element} of {places} by {updates}");
    }
}
