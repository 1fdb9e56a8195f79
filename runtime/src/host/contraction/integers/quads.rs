//! Panels of four bytes, and what their products have beyond those of integers less zero points.
//!
//! `Σ (a − x)(b − y)` is `Σ ab − x Σb − y Σa + nxy` over n steps: bytes are multiplied as they are stored, and sums of either factor give
//! the rest.

use super::super::pack::Panels;
use crate::host::vector::processor::{Processor, vectorised};

/// Steps of an element.
pub(in crate::host::contraction) const JOINED: usize = 4;

/// What changes the sign that a byte has to the one that it is multiplied with: it moves all by 128.
pub(in crate::host::contraction) const SIGN: u8 = 1 << 7;

/// Writes panels of quads of the packed panels of bytes, of `elements` elements and `steps` steps, whose bits of `flip` are changed. Steps
/// that fill up the last four are zeros.
pub(in crate::host::contraction) fn quads(
    bytes: &[u8],
    flip: u8,
    panels: Panels,
    (elements, steps): (usize, usize),
    out: &mut [f32],
) {
    let (processor, joined) = (Processor::detect(), steps.div_ceil(JOINED));
    for (first, width) in panels.each(elements) {
        let out = &mut out[first * joined..][..width * joined];
        join_panel(processor, &bytes[first * steps..][..width * steps], width, flip, out);
    }
}

vectorised! {
/// Joins every four rows of a panel of rows of `width`. Loops over numbers: iterators need not be inlined, and then have not the features of
/// the caller.
fn join_panel<I, Avx512>(processor, panel: &[u8], width: usize, flip: u8, out: &mut [f32]) {
    let all = u32::from(flip) * 0x0101_0101;
    let rows = panel.len() / width;
    let whole = rows / JOINED * JOINED;
    let mut row = 0;
    while row < whole {
        let out = &mut out[row / JOINED * width..][..width];
        let rows = &panel[row * width..][..JOINED * width];
        let (first, rest) = rows.split_at(width);
        let (second, rest) = rest.split_at(width);
        let (third, fourth) = rest.split_at(width);
        let (first, second, third, fourth) = (&first[..width], &second[..width], &third[..width], &fourth[..width]);
        let mut at = 0;
        while at < width {
            let low = u32::from(first[at]) | u32::from(second[at]) << 8;
            let high = u32::from(third[at]) | u32::from(fourth[at]) << 8;
            out[at] = f32::from_bits((low | high << 16) ^ all);
            at += 1;
        }
        row += JOINED;
    }
    if whole < rows {
        let out = &mut out[whole / JOINED * width..][..width];
        let mut at = 0;
        while at < width {
            let mut quad = 0;
            let mut row = whole;
            while row < rows {
                quad |= u32::from(panel[row * width + at] ^ flip) << (8 * (row - whole));
                row += 1;
            }
            out[at] = f32::from_bits(quad);
            at += 1;
        }
    }
}
}

/// Adds the bytes of each element of packed panels, whose bits of `flip` are changed, to its sum.
pub(in crate::host::contraction) fn add_bytes(
    bytes: &[u8],
    (flip, is_signed): (u8, bool),
    panels: Panels,
    steps: usize,
    sums: &mut [i32],
) {
    let (processor, elements) = (Processor::detect(), sums.len());
    for (first, width) in panels.each(elements) {
        let own = &mut sums[first..elements.min(first + width)];
        add_rows(processor, &bytes[first * steps..][..width * steps], width, flip, is_signed, own);
    }
}

vectorised! {
fn add_rows<I, Avx512>(processor, panel: &[u8], width: usize, flip: u8, is_signed: bool, sums: &mut [i32]) {
    let rows = panel.len() / width;
    let mut row = 0;
    while row < rows {
        let bytes = &panel[row * width..][..sums.len()];
        let mut at = 0;
        while at < sums.len() {
            let byte = bytes[at] ^ flip;
            sums[at] = sums[at].wrapping_add(if is_signed { i32::from(byte as i8) } else { i32::from(byte) });
            at += 1;
        }
        row += 1;
    }
}
}

/// A factor that was multiplied as it is stored: its zero point as it was multiplied, and the sum of each element along the steps. Where
/// the other's zero point is 0, the sums need not be there.
#[derive(Clone, Copy)]
pub(in crate::host::contraction) struct Stored<'s> {
    pub(in crate::host::contraction) zero: i32,
    pub(in crate::host::contraction) sums: &'s [i32],
}

/// Takes from a row-major matrix of products what they have beyond those of integers less their zero points.
pub(in crate::host::contraction) fn take_zeros(
    products: &mut [f32],
    stride: usize,
    rows: Stored<'_>,
    columns: Stored<'_>,
    steps: usize,
) {
    if (rows.zero, columns.zero) == (0, 0) {
        return;
    }
    let processor = Processor::detect();
    let both = (steps as i32).wrapping_mul(rows.zero).wrapping_mul(columns.zero);
    for (row, products) in products.chunks_mut(stride.max(1)).enumerate() {
        let of_row = if columns.zero == 0 { 0 } else { columns.zero.wrapping_mul(rows.sums[row]) };
        let added = both.wrapping_sub(of_row);
        let sums = if rows.zero == 0 { &[] } else { columns.sums };
        take_row(processor, rows.zero, sums, added, products);
    }
}

vectorised! {
fn take_row<I, Avx512>(processor, zero: i32, sums: &[i32], added: i32, products: &mut [f32]) {
    let with = |product: f32, value: i32| f32::from_bits(product.to_bits().wrapping_add_signed(value));
    if sums.is_empty() {
        products.iter_mut().for_each(|product| *product = with(*product, added));
    } else {
        let values = sums.iter().map(|sum| added.wrapping_sub(zero.wrapping_mul(*sum)));
        products.iter_mut().zip(values).for_each(|(product, value)| *product = with(*product, value));
    }
}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_steps_are_joined_in_each_panel() {
        for (panels, elements) in [(Panels::Padded(32), 40), (Panels::Padded(16), 16), (Panels::Exact(12), 29)] {
            for (steps, flip) in [(1, 0), (4, SIGN), (7, 0), (10, SIGN)] {
                let all = panels.singles(elements);
                let bytes: Vec<u8> = (0..all * steps).map(|at| (at * 37 + at / 5) as u8).collect();
                let mut out = vec![f32::NAN; all * steps.div_ceil(JOINED)];
                quads(&bytes, flip, panels, (elements, steps), &mut out);
                let mut sums = vec![5; elements];
                add_bytes(&bytes, (flip, true), panels, steps, &mut sums);
                for element in 0..elements {
                    let first = element / panels.width() * panels.width();
                    let width = panels.width_at(first, all);
                    let byte = |step: usize| bytes[first * steps + step * width + element - first] ^ flip;
                    let quad =
                        |four: usize| out[first * steps.div_ceil(JOINED) + four * width + element - first].to_bits();
                    for four in 0..steps.div_ceil(JOINED) {
                        let expected = [0, 1, 2, 3]
                            .map(|at| JOINED * four + at)
                            .map(|step| if step < steps { byte(step) } else { 0 });
                        assert_eq!(quad(four).to_le_bytes(), expected, "{panels:?}, element {element}, {steps} steps");
                    }
                    let sum: i32 = (0..steps).map(|step| i32::from(byte(step) as i8)).sum();
                    assert_eq!(sums[element], 5 + sum);
                }
            }
        }
    }

    #[test]
    fn products_lose_their_zero_points() {
        let (rows, columns) = ([[3, 200, 7], [255, 0, 1]], [[-128, 5, 127], [1, 2, 3], [-4, 0, 9]]);
        let of = |one: &[i32; 3], other: &[i32; 3], zeros: (i32, i32)| -> i32 {
            one.iter().zip(other).map(|(one, other)| (one - zeros.0) * (other - zeros.1)).sum()
        };
        for zeros in [(0, 0), (128, 0), (0, -128), (255, 127)] {
            let all = |zeros| rows.iter().flat_map(move |row| columns.map(|column| of(row, &column, zeros)));
            let mut products: Vec<f32> = all((0, 0)).map(|product| f32::from_bits(product as u32)).collect();
            let sums = [rows.map(|row| row.iter().sum()).to_vec(), columns.map(|column| column.iter().sum()).to_vec()];
            let [rows, columns] = [(zeros.0, &sums[0]), (zeros.1, &sums[1])].map(|(zero, sums)| Stored { zero, sums });
            take_zeros(&mut products, 3, rows, columns, 3);
            let found = products.iter().map(|product| product.to_bits() as i32);
            assert!(found.eq(all(zeros)), "{zeros:?}");
        }
    }
}
