//! Matrix products of packed factors.

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
        native(rows, columns, length, [0.0, 1.0])
    }
}

/// Integers wrap. Where no sum can leave the integers that a floating-point type holds exactly, that type multiplies them.
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
        let bound = largest(rows) * largest(columns) * length as u128;
        if bound <= 1 << f32::MANTISSA_DIGITS {
            let sums = native(&rows.map(|value| value as f32), &columns.map(|value| value as f32), length, [0.0, 1.0]);
            sums.into_iter().map(|sum| sum as i32).collect()
        } else if bound <= 1 << f64::MANTISSA_DIGITS {
            let sums = native(&rows.map(f64::from), &columns.map(f64::from), length, [0.0, 1.0]);
            sums.into_iter().map(|sum| sum as i64 as i32).collect()
        } else {
            wrapping(rows, columns, length)
        }
    }
}

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

/// The product by a native kernel; of 0 and 1.
#[expect(unsafe_code, reason = "the matrix product is a native kernel over raw pointers")]
fn native<T: Copy + 'static>(rows: &Packed<T>, columns: &Packed<T>, length: usize, [zero, one]: [T; 2]) -> Vec<T> {
    let mut product = vec![zero; rows.elements * columns.elements];
    for (packed, name) in [(rows, "rows"), (columns, "columns")] {
        let last = (packed.elements.max(1) - 1) * packed.element_stride + (length.max(1) - 1) * packed.step_stride;
        assert!(last < packed.values.len().max(1), "{name} are packed completely");
    }
    // SAFETY: `product` has rows × columns elements and is written row-major; the assertion above bounds every element
    // that the strides reach in either factor; the three allocations are distinct.
    unsafe {
        gemm::gemm(
            rows.elements,
            columns.elements,
            length,
            product.as_mut_ptr(),
            1,
            columns.elements as isize,
            false,
            rows.values.as_ptr(),
            rows.step_stride as isize,
            rows.element_stride as isize,
            columns.values.as_ptr(),
            columns.element_stride as isize,
            columns.step_stride as isize,
            zero,
            one,
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
    fn integers_are_multiplied_exactly() {
        check([-128, 127, 3], [255, -255, 1]);
        check([1 << 20, -7, 12345], [(1 << 20) - 1, 1 << 19, -3]);
        check([i32::MAX, i32::MIN, -1], [i32::MIN, i32::MAX, 77]);
    }
}
