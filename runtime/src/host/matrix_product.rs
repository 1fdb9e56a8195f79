//! Matrix products of packed factors.

use std::ops::Range;

use super::lanes::{LANES, Lanes};

/// A packed factor: `values[element · element_stride + step · step_stride]`.
pub(super) struct Packed<T> {
    pub(super) values: Vec<T>,
    pub(super) elements: usize,
    pub(super) element_stride: usize,
    pub(super) step_stride: usize,
}

/// What factors are packed as.
pub(super) trait Number: Copy + Default {
    /// Takes as many lanes as there are values.
    fn copy(lanes: &Lanes, values: &mut [Self]);
    /// Lanes that begin with these values.
    fn lanes(values: &[Self]) -> Lanes;
    /// The product of packed rows and columns, row-major.
    fn multiply(rows: &Packed<Self>, columns: &Packed<Self>, length: usize) -> Vec<Self>;
}

impl Number for f32 {
    fn copy(lanes: &Lanes, values: &mut [Self]) {
        match lanes {
            Lanes::Float(lanes) => values.copy_from_slice(&lanes[..values.len()]),
            Lanes::Double(_) | Lanes::Integer(_) => unreachable!("factors have the element type of their product"),
        }
    }

    fn lanes(values: &[Self]) -> Lanes {
        let mut lanes = [0f32; LANES];
        lanes[..values.len()].copy_from_slice(values);
        Lanes::Float(lanes)
    }

    fn multiply(rows: &Packed<Self>, columns: &Packed<Self>, length: usize) -> Vec<Self> {
        native(rows, columns, 0..length)
    }
}

/// Integers wrap. Where singles hold all sums of some steps exactly, they multiply so many steps at a time.
impl Number for i32 {
    fn copy(lanes: &Lanes, values: &mut [Self]) {
        match lanes {
            Lanes::Integer(lanes) => values.iter_mut().zip(lanes).for_each(|(value, lane)| *value = *lane as i32),
            Lanes::Float(_) | Lanes::Double(_) => unreachable!("factors have the element type of their product"),
        }
    }

    fn lanes(values: &[Self]) -> Lanes {
        let mut lanes = [0i64; LANES];
        lanes.iter_mut().zip(values).for_each(|(lane, value)| *lane = i64::from(*value));
        Lanes::Integer(lanes)
    }

    fn multiply(rows: &Packed<Self>, columns: &Packed<Self>, length: usize) -> Vec<Self> {
        let largest = |packed: &Packed<i32>| {
            packed.values.iter().map(|value| u128::from(value.unsigned_abs())).max().unwrap_or(0)
        };
        let most = (largest(rows) * largest(columns)).max(1);
        let steps = ((1 << f32::MANTISSA_DIGITS) / most).min(length.max(1) as u128) as usize;
        if steps < FEWEST_STEPS.min(length.max(1)) {
            return wrapping(rows, columns, length);
        }
        let (rows, columns) = (rows.map(|value| value as f32), columns.map(|value| value as f32));
        let mut sums = vec![0i32; rows.elements * columns.elements];
        for first in (0..length).step_by(steps) {
            let part = native(&rows, &columns, first..length.min(first + steps));
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.wrapping_add(part as i32));
        }
        sums
    }
}

/// Fewer steps than this at a time are summed sooner one after another.
const FEWEST_STEPS: usize = 16;

impl<T: Copy> Packed<T> {
    fn map<U>(&self, convert: impl Fn(T) -> U) -> Packed<U> {
        let values = self.values.iter().copied().map(convert).collect();
        let Self { elements, element_stride, step_stride, .. } = *self;
        Packed { values, elements, element_stride, step_stride }
    }

    fn at(&self, element: usize, step: usize) -> T {
        self.values[element * self.element_stride + step * self.step_stride]
    }
}

/// The product, one sum after another.
fn wrapping(rows: &Packed<i32>, columns: &Packed<i32>, length: usize) -> Vec<i32> {
    let sum = |row: usize, column: usize| {
        let products = (0..length).map(|step| rows.at(row, step).wrapping_mul(columns.at(column, step)));
        products.fold(0, i32::wrapping_add)
    };
    (0..rows.elements).flat_map(|row| (0..columns.elements).map(move |column| sum(row, column))).collect()
}

/// The product over some steps by a native kernel.
#[expect(unsafe_code, reason = "the matrix product is a native kernel over raw pointers")]
fn native(rows: &Packed<f32>, columns: &Packed<f32>, steps: Range<usize>) -> Vec<f32> {
    let mut product = vec![0.0; rows.elements * columns.elements];
    for (packed, name) in [(rows, "rows"), (columns, "columns")] {
        let last = (packed.elements.max(1) - 1) * packed.element_stride + (steps.end.max(1) - 1) * packed.step_stride;
        assert!(last < packed.values.len().max(1), "{name} are packed completely");
    }
    let of_first_step = |packed: &Packed<f32>| packed.values[steps.start * packed.step_stride..].as_ptr();
    let (row_values, column_values) = (of_first_step(rows), of_first_step(columns));
    // SAFETY: `product` has rows × columns elements and is written row-major; the assertion above bounds every element
    // that the strides reach in either factor; the three allocations are distinct.
    unsafe {
        gemm::gemm(
            rows.elements,
            columns.elements,
            steps.len(),
            product.as_mut_ptr(),
            1,
            columns.elements as isize,
            false,
            row_values,
            rows.step_stride as isize,
            rows.element_stride as isize,
            column_values,
            columns.element_stride as isize,
            columns.step_stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Factors of two rows, three columns and four steps, in which the values occur in turn.
    fn check(rows: [i32; 3], columns: [i32; 3]) {
        let packed = |values: [i32; 3], elements: usize, element_stride, step_stride| {
            let values = (0..4 * elements).map(|at| values[at % 3]).collect();
            Packed { values, elements, element_stride, step_stride }
        };
        let (rows, columns) = (packed(rows, 2, 4, 1), packed(columns, 3, 1, 3));
        assert_eq!(i32::multiply(&rows, &columns, 4), wrapping(&rows, &columns, 4));
    }

    #[test]
    fn long_sums_are_multiplied_in_parts() {
        for length in [0, 1, 257, 258, 259, 4000] {
            let packed = |values: [i32; 3], elements: usize| Packed {
                values: (0..length * elements).map(|at| values[at % 3]).collect(),
                elements,
                element_stride: length,
                step_stride: 1,
            };
            let (rows, columns) = (packed([255, -255, 254], 2), packed([-255, 255, -254], 3));
            assert_eq!(i32::multiply(&rows, &columns, length), wrapping(&rows, &columns, length), "{length} steps");
        }
    }

    #[test]
    fn integers_are_multiplied_exactly() {
        check([-128, 127, 3], [255, -255, 1]);
        check([1 << 20, -7, 12345], [(1 << 20) - 1, 1 << 19, -3]);
        check([i32::MAX, i32::MIN, -1], [i32::MIN, i32::MAX, 77]);
        check([0, 0, 0], [i32::MAX, 1, 2]);
    }
}
