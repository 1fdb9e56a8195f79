//! What is derived from footprints equals the thesis' Tables 3.5–3.7, corrected by errata E1–E4.

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::bound::counts::Counts;
use warpweave_fusion::cost::bound::{BlockShape, BoundMode};
use warpweave_graph::expr::TensorExpr;

use crate::operators::{Window, batch_norm, convolution, elementwise, matmul, pooling, shared};

/// Elements of a transaction.
const TR: usize = 8;

/// Erratum E3: transactions of a box of a tensor that is laid out row by row.
fn transactions(extents: &[usize], tile: &[usize]) -> usize {
    let inner = (0..extents.len()).rev().find(|&at| tile[at] < extents[at]).unwrap_or(0);
    let run: usize = tile[inner..].iter().product();
    tile[..inner].iter().product::<usize>() * run.div_ceil(TR)
}

#[track_caller]
fn check(expr: &TensorExpr, block: &[usize], thread: &[usize], [operations, loads, moved]: [usize; 3]) {
    let slice = vec![1; expr.reduced().count()];
    let shape = BlockShape::over_parallel(expr, block, thread, shared(&slice));
    let counts = Counts::of(expr, &shape, &GpuArch::v100(), BoundMode::Corrected);
    assert_eq!(counts.block_operations, operations as u64, "COMP of {block:?}");
    assert_eq!(counts.thread_loads, loads as u64, "N_load of {thread:?}");
    let output: Vec<usize> = expr.output().shape.to_vec();
    assert_eq!(counts.load_transactions, moved as u64, "NUM_trans of {block:?}");
    assert_eq!(counts.store_transactions, transactions(&output, block) as u64, "stores of {block:?}");
}

const TILES: [([usize; 4], [usize; 4]); 4] = [
    ([1, 32, 8, 8], [1, 8, 2, 2]),
    ([1, 16, 4, 56], [1, 4, 1, 4]),
    ([2, 8, 56, 56], [1, 2, 4, 2]),
    ([1, 64, 1, 16], [1, 4, 1, 8]),
];

#[test]
fn direct_convolution() {
    for window in [Window::new(3, 1, 1), Window::new(1, 1, 0), Window::new(5, 1, 2), Window::new(7, 2, 3)] {
        for ([n, k, h, w], [n_t, k_t, h_t, w_t]) in TILES {
            let (c, f) = (24, window.taps);
            let expr = convolution([2, c, 64, 56, 56], window, false);
            let input = window.input(56);
            let extent = |outputs: usize| ((outputs - 1) * window.stride + f).min(input);
            let operations = 2 * n * c * k * h * w * f * f;
            let loads = n_t * c * extent(h_t) * extent(w_t) + k_t * c * f * f;
            let moved = transactions(&[2, c, input, input], &[n, c, extent(h), extent(w)])
                + transactions(&[64, c, f, f], &[k, c, f, f]);
            check(&expr, &[n, k, h, w], &[n_t, k_t, h_t, w_t], [operations, loads, moved]);
        }
    }
}

#[test]
fn matrix_product() {
    for c in [96, 100, 1024] {
        for ([n, k], [n_t, k_t]) in [([64, 64], [8, 8]), ([128, 32], [8, 4]), ([16, 512], [2, 8])] {
            let expr = matmul([512, c, 512]);
            let operations = 2 * n * c * k;
            let moved = transactions(&[512, c], &[n, c]) + transactions(&[c, 512], &[c, k]);
            check(&expr, &[n, k], &[n_t, k_t], [operations, n_t * c + c * k_t, moved]);
        }
    }
}

#[test]
fn batch_normalisation() {
    let shape = [2, 64, 56, 56];
    for ([n, k, h, w], [n_t, k_t, h_t, w_t]) in TILES {
        let operations = 3 * n * k * h * w;
        let loads = n_t * k_t * h_t * w_t + 3 * k_t;
        let moved = transactions(&shape, &[n, k, h, w]) + 3 * transactions(&[64], &[k]);
        check(&batch_norm(shape), &[n, k, h, w], &[n_t, k_t, h_t, w_t], [operations, loads, moved]);
    }
}

#[test]
fn pooling_windows() {
    for window in [Window::new(2, 2, 0), Window::new(3, 2, 1), Window::new(3, 1, 1)] {
        for ([n, k, h, w], [n_t, k_t, h_t, w_t]) in TILES {
            let f = window.taps;
            let input = window.input(56);
            let extent = |outputs: usize| ((outputs - 1) * window.stride + f).min(input);
            let expr = pooling([2, 64, 56, 56], window);
            let operations = n * k * h * w * f * f;
            let loads = n_t * k_t * h_t * w_t * f * f;
            let moved = transactions(&[2, 64, input, input], &[n, k, extent(h), extent(w)]);
            check(&expr, &[n, k, h, w], &[n_t, k_t, h_t, w_t], [operations, loads, moved]);
        }
    }
}

#[test]
fn elementwise_operations() {
    let shape = [2, 64, 56, 56];
    for operands in [1, 2] {
        for ([n, k, h, w], [n_t, k_t, h_t, w_t]) in TILES {
            let loads = operands * n_t * k_t * h_t * w_t;
            let moved = operands * transactions(&shape, &[n, k, h, w]);
            let expr = elementwise(&shape, operands);
            check(&expr, &[n, k, h, w], &[n_t, k_t, h_t, w_t], [n * k * h * w, loads, moved]);
        }
    }
}

/// Errata E3 and E4: a 32 × 128 tile takes 512 transactions, not 4,096, and as many again to store.
#[test]
fn a_matrix_as_a_convolution_pays_for_its_bytes() {
    let expr = elementwise(&[512, 1024, 1, 1], 1);
    let shape = BlockShape::over_parallel(&expr, &[32, 128, 1, 1], &[1, 16, 1, 1], shared(&[]));
    let counts = |mode| Counts::of(&expr, &shape, &GpuArch::v100(), mode);
    use warpweave_fusion::cost::bound::InputExtent::Exact;
    assert_eq!(counts(BoundMode::Thesis(Exact)).load_transactions, 4_096);
    assert_eq!(counts(BoundMode::Corrected).load_transactions, 512);
    assert_eq!(counts(BoundMode::Corrected).store_transactions, 512);
}
