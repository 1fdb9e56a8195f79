//! The threads of a block, and the boxes of points that they fill.

/// How many threads a block has: whole warps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockSize {
    warps: usize,
}

impl BlockSize {
    /// Threads of the block.
    pub fn threads(self) -> usize {
        self.warps * WARP
    }

    /// Warps of the block.
    pub fn warps(self) -> usize {
        self.warps
    }
}

/// The size of a template's blocks where it names none, see [`Rules::block_size`](crate::template::rules::Rules::block_size).
impl Default for BlockSize {
    fn default() -> Self {
        Self { warps: 8 }
    }
}

/// Lanes of a warp.
pub const WARP: usize = 32;

/// A box of at most `capacity` points that fills `axes` from the innermost outwards; 1 elsewhere.
pub fn fill(extents: &[usize], axes: &[usize], capacity: usize) -> Vec<usize> {
    let mut tile = vec![1; extents.len()];
    let mut left = capacity;
    for &axis in axes.iter().rev() {
        tile[axis] = extents[axis].min(left).max(1);
        left /= tile[axis];
    }
    tile
}

/// A box of at most `capacity` points along `axes`, 1 elsewhere, of which the fewest cover the extents. Of several such
/// boxes it is the one that is longest along the innermost axis, then along the next.
pub fn fewest(extents: &[usize], axes: &[usize], capacity: usize) -> Vec<usize> {
    let mut tile = vec![1; extents.len()];
    let along: Vec<usize> = axes.iter().map(|&axis| extents[axis].max(1)).collect();
    let (_, lengths) = fewest_along(&along, capacity);
    axes.iter().zip(lengths).for_each(|(&axis, length)| tile[axis] = length);
    tile
}

/// The number of boxes, and the extents of one. No extent is 0.
fn fewest_along(extents: &[usize], capacity: usize) -> (usize, Vec<usize>) {
    let Some((&innermost, outer)) = extents.split_last() else { return (1, Vec::new()) };
    let mut best: Option<(usize, Vec<usize>)> = None;
    let mut count = innermost.div_ceil(capacity.max(1));
    while count <= innermost {
        let length = innermost.div_ceil(count);
        let (others, mut lengths) = fewest_along(outer, capacity / length);
        let boxes = others * innermost.div_ceil(length);
        if best.as_ref().is_none_or(|best| boxes < best.0) {
            lengths.push(length);
            best = Some((boxes, lengths));
        }
        if length == 1 {
            break;
        }
        // The fewest boxes that are shorter.
        count = innermost.div_ceil(length - 1);
    }
    best.unwrap_or_else(|| (1, vec![1; extents.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_fill_from_the_innermost_axis() {
        assert_eq!(fill(&[8, 35, 35], &[1, 2], 64), [1, 1, 35]);
        assert_eq!(fill(&[8, 6, 5], &[0, 1, 2], 64), [2, 6, 5]);
    }

    #[test]
    fn the_fewest_boxes_cover() {
        assert_eq!(fewest(&[8, 35, 35], &[1, 2], 64), [1, 7, 9]);
        assert_eq!(fewest(&[64, 14, 14], &[1, 2], 64), [1, 4, 14], "the longest of as few");
        assert_eq!(fewest(&[7], &[0], 64), [7]);
        assert_eq!(fewest(&[7], &[], 64), [1]);
        assert_eq!(fewest(&[3, 0], &[0, 1], 4), [3, 1], "one point along an axis without any");
    }
}
