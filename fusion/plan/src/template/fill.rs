//! Boxes of a given capacity.

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
