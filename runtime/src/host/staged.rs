//! Staged values of a group: the boxes that a tile needs, computed before its stages.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::Range;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::staged::StagedBox;

use super::lanes::LANES;
use super::memory::{Memory, StagedValues};
use super::points::for_each_point;
use super::product::HostProduct;
use super::reduction::stage_lanes;
use super::stage::{HostStage, strides};

/// A staged stage, prepared.
pub(super) struct HostStaged {
    pub(super) stage: HostStage,
    /// The product that it sums, if it is done natively.
    pub(super) product: Option<HostProduct>,
    /// The box of a tile.
    pub(super) spans: StagedBox,
}

impl HostStaged {
    /// The elements of the tile's box, from memory that holds the earlier ones.
    pub(super) fn compute(&self, tile: &[i64], memory: &Memory) -> StagedValues {
        let ranges: Vec<Range> = self.spans.iter().map(|span| span.inside(tile)).collect();
        let strides = strides(&self.spans);
        let volume = self.spans.iter().map(|span| span.extent).product();
        let first: usize = ranges.iter().zip(&strides).map(|(range, stride)| range.minimum as usize * stride).sum();
        let mut staged = StagedValues::new(self.stage.expr.element, first as i64, volume);
        let axes: Vec<usize> = self.stage.expr.parallel().map(Id::index).collect();
        let mut point = vec![0; self.stage.expr.axes.len()];
        let Some((last, outer)) = ranges.split_last() else {
            let value = stage_lanes(&self.stage, self.product.as_ref(), &mut point, (None, 1), memory, &[]);
            staged.keep(0, 1, &value);
            return staged;
        };
        let mut counter = vec![0; outer.len()];
        for_each_point(outer, &mut counter, &mut |outer| {
            for (axis, value) in axes.iter().zip(outer.iter()) {
                point[*axis] = *value;
            }
            let mut start = last.minimum;
            while start <= last.maximum {
                let count = ((last.maximum - start + 1) as usize).min(LANES);
                let axis = axes[axes.len() - 1];
                point[axis] = start;
                let value =
                    stage_lanes(&self.stage, self.product.as_ref(), &mut point, (Some(axis), count), memory, &[]);
                let slot: i64 =
                    axes.iter().zip(&strides).map(|(axis, stride)| point[*axis] * *stride as i64).sum::<i64>();
                staged.keep((slot - staged.first) as usize, count, &value);
                start += count as i64;
            }
        });
        staged
    }
}

/// The boxes of a body's staged values.
pub(super) fn boxes(body: &GroupBody, params: &warpweave_plan::template::tile::ScheduleParams) -> Vec<StagedBox> {
    if body.staged.is_empty() {
        return Vec::new();
    }
    warpweave_plan::template::staged::boxes(body, params).expect("a verified plan gives every staged value a box")
}
