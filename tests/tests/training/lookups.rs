//! Gradients of tables that are read through an index are the sums of the slices of each key.

use warpweave::graph::autodiff::append_gradients;
use warpweave::graph::lower::lower_differentiable;
use warpweave::graph::program::ProgramBuilder;
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::parse;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave_tests::random::{Random, tensor};
use warpweave_tests::suite::Suite;

/// A table, the dimension that is indexed, and how many indices there are along two dimensions.
struct Case {
    name: &'static str,
    table: [usize; 3],
    dimension: usize,
    indices: [usize; 2],
    /// Indices are below it, and not below its negative.
    below: usize,
}

const CASES: [Case; 7] = [
    Case { name: "few places", table: [8, 3, 2], dimension: 0, indices: [4, 5], below: 8 },
    Case { name: "few slices", table: [60, 3, 2], dimension: 0, indices: [2, 2], below: 60 },
    Case { name: "one level", table: [40, 3, 2], dimension: 0, indices: [4, 4], below: 40 },
    Case { name: "two levels", table: [40, 2, 2], dimension: 0, indices: [7, 9], below: 40 },
    Case { name: "three levels", table: [70, 1, 2], dimension: 0, indices: [30, 11], below: 70 },
    Case { name: "one key", table: [50, 2, 1], dimension: 0, indices: [6, 50], below: 1 },
    Case { name: "inner dimension", table: [2, 40, 3], dimension: 1, indices: [5, 6], below: 40 },
];

/// A trial a case.
pub fn add(suite: &mut Suite) {
    for case in CASES {
        suite.trial(format!("lookups {}", case.name), move || check(&case));
    }
}

fn check(case: &Case) {
    let Case { table, dimension, indices: [rows, columns], below, .. } = case;
    let mut extents = table.to_vec();
    extents.splice(*dimension..=*dimension, [*rows, *columns]);
    let written = |extents: &[usize]| extents.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let text = format!(
        "graph \"g\"\nv0 \"x\": f64[{}] = input\nv1 \"i\": i64[{rows}x{columns}] = input\n\
         v2 \"y\": f64[{}] = Gather \"n\" (v0, v1) {{axis = int {dimension}}}\ninput v0, v1\noutput v2\n",
        written(table),
        written(&extents)
    );
    let graph = parse(&text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let forward = lower_differentiable(&graph).with_reduced_values();
    let mut random = Random::new(5);
    let keys: Vec<f64> = (0..rows * columns).map(|_| random.below(2 * below) as f64 - *below as f64).collect();
    let doubles = |extents: &[usize]| TensorType::new(ElementType::F64, extents.to_vec());
    let adjoint = tensor(&mut random, &doubles(&extents));
    let mut program = ProgramBuilder::extending(forward.clone());
    let seed = program.constant(adjoint.clone());
    let (input, output) = (forward.program.inputs[0], forward.program.outputs[0]);
    let gradients = append_gradients(&mut program, &forward, &[(output, seed)], &[input]).expect("it has gradients");
    let gradient = gradients[0].expect("the output depends on the table");
    let inputs = [
        tensor(&mut random, &doubles(table)),
        Tensor::from_f64(TensorType::new(ElementType::I64, vec![*rows, *columns]), &keys),
    ];
    let found = evaluate(&program.finish(vec![gradient]), &inputs).expect("it has a value")[0].to_f64();
    let wanted = scattered(case, &keys, &adjoint.to_f64());
    // Sums of eighths are exact in any order.
    assert_eq!(found, wanted);
}

/// What each element of the table is read with, summed.
fn scattered(case: &Case, keys: &[f64], adjoint: &[f64]) -> Vec<f64> {
    let inner: usize = case.table[case.dimension + 1..].iter().product();
    let places = case.table[case.dimension];
    let mut sums = vec![0.0; case.table.iter().product()];
    for (at, value) in adjoint.iter().enumerate() {
        let (outer, key, inside) = (at / inner / keys.len(), at / inner % keys.len(), at % inner);
        let key = keys[key] as i64;
        let place = if key < 0 { key + places as i64 } else { key } as usize;
        sums[(outer * places + place) * inner + inside] += value;
    }
    sums
}
