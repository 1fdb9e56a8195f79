use super::*;
use crate::template::block::WARP;
use crate::tensor_core::fragment::{FragmentKind, MatrixOperand};
use std::collections::BTreeSet;
use warpweave_graph::arena::Id;

const QUAD: usize = WARP / MATRIX;

fn side(class: AxisClass, block: WarpBlock, path: FactorPath) -> MatrixSide {
    MatrixSide {
        class,
        read: ReadId::from_index(0),
        axes: Vec::new(),
        groups: block.groups(class),
        path,
        held: Held::Reduction,
    }
}

fn products() -> impl Iterator<Item = MatrixProduct> {
    let orders = [StepOrder::Product, StepOrder::Neighbours];
    BLOCKS.into_iter().flat_map(move |block| {
        let neighbours = FactorPath::Elements(block.along);
        [FactorPath::Steps, neighbours].into_iter().flat_map(move |path| {
            let sides = [side(AxisClass::Row, block, FactorPath::Steps), side(AxisClass::Column, block, path)];
            orders.map(|order| MatrixProduct { block, sides: sides.clone(), order })
        })
    })
}

#[test]
fn lanes_hold_every_sum_and_every_factor_once() {
    for product in products() {
        let WarpBlock { down, along } = product.block;
        let (mut sums, mut rows, mut columns) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for lane in 0..WARP {
            let (eighth, quad) = (lane / QUAD, lane % QUAD);
            for row in 0..product.block.lane_rows() {
                let column = |at| product.sum_column(quad, at);
                let of_row = (0..product.block.lane_columns()).map(|at| (product.sum_row(eighth, row), column(at)));
                assert!(of_row.into_iter().all(|place| sums.insert(place)), "{product:?}");
            }
            for (word, part) in (0..product.order.words()).flat_map(|word| [(word, 0), (word, 1)]) {
                let step = product.order.step(quad, word) + part;
                let [left, right] = &product.sides;
                rows.extend((0..left.groups).map(|group| (left.loaded(eighth, group), step)));
                columns.extend((0..right.groups).map(|group| (right.loaded(eighth, group), step)));
            }
        }
        assert_eq!(sums.len(), down * ROWS * along * COLUMNS);
        assert_eq!(rows.len(), down * ROWS * product.order.steps());
        assert_eq!(columns.len(), along * COLUMNS * product.order.steps());
    }
}

/// Within a product, lanes of one step, row and column are those of the fragments.
#[test]
fn factors_meet_as_in_fragments() {
    for product in products() {
        let at = |operand, lane, register| FragmentKind::HALVES.position(operand, lane, register, 0);
        for (lane, other) in (0..WARP).flat_map(|lane| (0..WARP).map(move |other| (lane, other))) {
            for (number, word) in (0..product.order.products()).flat_map(|number| [(number, 0), (number, 1)]) {
                let step = |lane: usize| product.order.step(lane % QUAD, 2 * number + word);
                let left = at(MatrixOperand::Left, lane, 2 * word).column;
                let right = at(MatrixOperand::Right, other, word).row;
                assert_eq!(left == right, step(lane) == step(other), "{product:?}");
            }
            let same_row = at(MatrixOperand::Left, lane, 0).row == at(MatrixOperand::Sums, other, 0).row;
            assert_eq!(same_row, product.sides[0].loaded(lane / QUAD, 0) == product.sum_row(other / QUAD, 0));
            let right = at(MatrixOperand::Right, lane, 0).column;
            let same_column = right == at(MatrixOperand::Sums, other, 0).column;
            assert_eq!(same_column, product.sides[1].loaded(lane / QUAD, 0) == product.sum_column(other % QUAD, 0));
        }
    }
}
