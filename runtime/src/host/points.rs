//! The points of boxes and of axes, one after another.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Range};

use super::lanes::LANES;
use super::stage::{HostStage, Run};

/// Every point of a box, the last axis fastest; `point` may be longer than the box.
pub(super) fn for_each_point(ranges: &[Range], point: &mut [i64], body: &mut dyn FnMut(&mut [i64])) {
    if ranges.iter().any(|range| range.minimum > range.maximum) {
        return;
    }
    for (at, range) in ranges.iter().enumerate() {
        point[at] = range.minimum;
    }
    loop {
        body(point);
        let mut axis = ranges.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            if point[axis] < ranges[axis].maximum {
                point[axis] += 1;
                break;
            }
            point[axis] = ranges[axis].minimum;
        }
    }
}

/// Every value of some axes of a stage, the last fastest.
pub(super) fn for_each_value(stage: &HostStage, axes: &[usize], point: &mut [i64], body: &mut dyn FnMut(&mut [i64])) {
    let Some((&axis, rest)) = axes.split_first() else { return body(point) };
    let extent = stage.expr.axes[AxisId::from_index(axis)].extent as i64;
    for value in 0..extent {
        point[axis] = value;
        for_each_value(stage, rest, point, body);
    }
    point[axis] = 0;
}

/// Every value of some axes of a stage, in runs along the last.
pub(super) fn for_each_run(stage: &HostStage, axes: &[usize], point: &mut [i64], body: &mut dyn FnMut(&Run)) {
    let Some((&last, outer)) = axes.split_last() else { return body(&Run { point, axis: None, count: 1 }) };
    let extent = stage.expr.axes[AxisId::from_index(last)].extent;
    for_each_value(stage, outer, point, &mut |point| {
        for first in (0..extent).step_by(LANES) {
            point[last] = first as i64;
            body(&Run { point, axis: Some(last), count: (extent - first).min(LANES) });
        }
        point[last] = 0;
    });
}
