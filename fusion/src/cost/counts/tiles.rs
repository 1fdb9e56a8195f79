//! The numbering of tiles and of points in boxes.

use warpweave_plan::kernel::Kernel;

/// The tile axes of a group under its parameters.
pub(crate) struct Tiles {
    extents: Vec<usize>,
    tile: Vec<usize>,
    grid: Vec<usize>,
}

impl Tiles {
    pub(crate) fn new(kernel: &Kernel) -> Self {
        Self { extents: kernel.body().tile_extents(), tile: kernel.tile().to_vec(), grid: kernel.grid() }
    }

    pub(crate) fn count(&self) -> usize {
        self.grid.iter().product()
    }

    /// The first coordinates of a tile.
    pub(crate) fn origin(&self, tile: usize) -> Vec<i64> {
        let mut origin = decode(&self.grid, tile);
        origin.iter_mut().zip(&self.tile).for_each(|(coordinate, extent)| *coordinate *= *extent as i64);
        origin
    }

    /// Sets the coordinates along `axes` of the point with this number in their box, and tells whether it exists.
    pub(crate) fn place(&self, origin: &[i64], axes: &[usize], number: usize, point: &mut [i64]) -> bool {
        let mut rest = number;
        let mut inside = true;
        for &axis in axes.iter().rev() {
            point[axis] = origin[axis] + (rest % self.tile[axis]) as i64;
            rest /= self.tile[axis];
            inside &= point[axis] < self.extents[axis] as i64;
        }
        inside && rest == 0
    }

    /// Where the point with this number stands in a tile's box along `axes`; `None` if the box has fewer points.
    pub(crate) fn place_in_box(&self, axes: &[usize], number: usize) -> Option<PlaceInBox> {
        let mut rest = number;
        let mut place = PlaceInBox::with_capacity(self.tile.len());
        for &axis in axes.iter().rev() {
            place.push((axis, (rest % self.tile[axis]) as i64));
            rest /= self.tile[axis];
        }
        (rest == 0).then_some(place)
    }

    /// Sets the coordinates of a place in the box of a tile, and tells whether there is a point.
    pub(crate) fn place_box(&self, origin: &[i64], place: &Option<PlaceInBox>, point: &mut [i64]) -> bool {
        point[..origin.len()].copy_from_slice(origin);
        let Some(place) = place else { return false };
        place.iter().for_each(|&(axis, at)| point[axis] += at);
        place.iter().all(|&(axis, _)| point[axis] < self.extents[axis] as i64)
    }
}

/// Coordinates relative to a tile's first point, by axis.
pub(crate) type PlaceInBox = Vec<(usize, i64)>;

/// The coordinates of the point with this number in a box, the last axis fastest.
pub(crate) fn decode(extents: &[usize], number: usize) -> Vec<i64> {
    let mut point = vec![0; extents.len()];
    let axes: Vec<(usize, usize)> = extents.iter().copied().enumerate().collect();
    set(&axes, number, &mut point);
    point
}

/// Sets the coordinates along `(axis, extent)`s of the point with this number in their box, the last axis fastest.
pub(crate) fn set(axes: &[(usize, usize)], number: usize, point: &mut [i64]) {
    let mut rest = number;
    for &(axis, extent) in axes.iter().rev() {
        let extent = extent.max(1);
        point[axis] = (rest % extent) as i64;
        rest /= extent;
    }
}
