//! The points and chunks of axes, one after another.

use warpweave_graph::expr::Range;

use super::lanes::{Extent, Order};
use super::place::Chunk;

/// The next point along axes, the last fastest; after the last point the first again, and false.
pub(crate) fn advance(point: &mut [i64], axes: &[Extent], ranges: Option<&[Range]>) -> bool {
    for &(axis, extent) in axes.iter().rev() {
        let Range { minimum, maximum } = range(axis, extent, ranges);
        if point[axis] < maximum {
            point[axis] += 1;
            return true;
        }
        point[axis] = minimum;
    }
    false
}

fn range(axis: usize, extent: usize, ranges: Option<&[Range]>) -> Range {
    ranges.map_or(Range { minimum: 0, maximum: extent as i64 - 1 }, |ranges| ranges[axis])
}

/// The chunks of the rows and columns of an order from a point on.
pub(crate) fn each_chunk(
    order: &Order,
    ranges: Option<&[Range]>,
    capacity: usize,
    point: &mut [i64],
    body: &mut impl FnMut(&mut [i64], Chunk),
) {
    let Some((column, extent)) = order.column else { return body(point, Chunk::POINT) };
    let first = point[column];
    let columns = match ranges {
        Some(ranges) => {
            let merged = order.merged.iter().chain([&column]).map(|&axis| ranges[axis]);
            merged.map(|range| (range.maximum - range.minimum + 1) as usize).product()
        }
        None => extent,
    };
    let row = order.row.map(|(axis, extent)| (axis, range(axis, extent, ranges)));
    let fits = columns <= capacity;
    match row {
        Some((row, range)) if fits => {
            let most = (capacity / columns.max(1)) as i64;
            let mut at = range.minimum;
            while at <= range.maximum {
                let rows = (range.maximum - at + 1).min(most);
                point[row] = at;
                body(point, Chunk { rows: rows as usize, columns });
                at += rows;
            }
            point[row] = range.minimum;
        }
        _ => {
            let rows = row.map_or(0..=0, |(_, range)| range.minimum..=range.maximum);
            let most = if fits { columns } else { capacity };
            for at in rows.clone() {
                if let Some((row, _)) = row {
                    point[row] = at;
                }
                for start in (0..columns).step_by(most.max(1)) {
                    point[column] = first + start as i64;
                    let columns = (columns - start).min(most);
                    body(point, Chunk { rows: 1, columns });
                }
                point[column] = first;
            }
            if let Some((row, range)) = row {
                point[row] = range.minimum;
            }
        }
    }
}
