//! The points of boxes, one after another.

use warpweave_graph::expr::Range;

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
