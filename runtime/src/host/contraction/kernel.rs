//! Micro-kernels: products of packed panels of singles, for the vectors that this processor has.

use std::sync::OnceLock;

use crate::host::simd::Vector;

/// Most rows of a panel, whatever the processor.
pub(in crate::host) const MOST_ROWS: usize = 12;

/// The product of one panel of rows with neighbouring panels of columns, over a block of steps.
pub(in crate::host) struct PanelProduct<'p> {
    /// Rows of the panel, at most [`Kernels::rows`].
    pub(in crate::host) rows: usize,
    /// The row factor: `rows` elements a step.
    pub(in crate::host) row_panel: &'p [f32],
    /// The column factor: panels one after another, each of [`Kernels::columns`] elements a step.
    pub(in crate::host) column_panels: &'p [f32],
    /// Steps of the block.
    pub(in crate::host) steps: usize,
    /// The sums, row-major.
    pub(in crate::host) sums: &'p mut [f32],
    /// Elements from one row of sums to the next.
    pub(in crate::host) stride: usize,
    /// Whether sums begin with this block, or are added to.
    pub(in crate::host) begins: bool,
}

/// The micro-kernels of an instruction set.
pub(in crate::host) struct Kernels {
    /// Rows of a full panel.
    pub(in crate::host) rows: usize,
    /// Columns of a panel.
    pub(in crate::host) columns: usize,
    multiply: fn(&mut PanelProduct<'_>),
}

impl Kernels {
    /// Those of this processor.
    pub(in crate::host) fn native() -> &'static Self {
        static KERNELS: OnceLock<Kernels> = OnceLock::new();
        KERNELS.get_or_init(|| x86::kernels().unwrap_or(PORTABLE))
    }

    /// Multiplies one panel of rows with all of `column_panels`.
    pub(in crate::host) fn multiply(&self, product: &mut PanelProduct<'_>) {
        (self.multiply)(product);
    }
}

/// Vectors of four, which any compiler of this century maps to the registers that there are.
const PORTABLE: Kernels = Kernels { rows: 6, columns: 16, multiply: of_any_rows::<[f32; 4], 4, 16, 6> };

/// Dispatches on the number of rows. Kernels of few rows take several panels of columns at once: one has too few sums to
/// hide the latency of their additions. `WIDTH` vectors are the columns of a panel.
#[inline(always)]
fn of_any_rows<V: Vector, const WIDTH: usize, const COLUMNS: usize, const ROWS: usize>(product: &mut PanelProduct<'_>) {
    if product.rows == ROWS {
        return of_rows::<V, WIDTH, COLUMNS, ROWS, 1>(product);
    }
    match product.rows {
        0 => {}
        1 => of_rows::<V, WIDTH, COLUMNS, 1, 4>(product),
        2 => of_rows::<V, WIDTH, COLUMNS, 2, 2>(product),
        3 => of_rows::<V, WIDTH, COLUMNS, 3, 1>(product),
        4 => of_rows::<V, WIDTH, COLUMNS, 4, 1>(product),
        5 => of_rows::<V, WIDTH, COLUMNS, 5, 1>(product),
        6 => of_rows::<V, WIDTH, COLUMNS, 6, 1>(product),
        7 => of_rows::<V, WIDTH, COLUMNS, 7, 1>(product),
        8 => of_rows::<V, WIDTH, COLUMNS, 8, 1>(product),
        9 => of_rows::<V, WIDTH, COLUMNS, 9, 1>(product),
        10 => of_rows::<V, WIDTH, COLUMNS, 10, 1>(product),
        11 => of_rows::<V, WIDTH, COLUMNS, 11, 1>(product),
        rows => unreachable!("no panel has {rows} rows"),
    }
}

#[inline(always)]
fn of_rows<V: Vector, const WIDTH: usize, const COLUMNS: usize, const ROWS: usize, const PANELS: usize>(
    product: &mut PanelProduct<'_>,
) {
    let PanelProduct { row_panel, column_panels, steps, sums, stride, begins, .. } = product;
    let (rows, _) = row_panel.as_chunks::<ROWS>();
    let (rows, (columns, _)) = (&rows[..*steps], column_panels.as_chunks::<COLUMNS>());
    let panels = columns.len().checked_div(*steps).unwrap_or(0);
    let mut panel = 0;
    while panel + PANELS <= panels {
        let of_each: [&[[f32; COLUMNS]]; PANELS] =
            std::array::from_fn(|at| &columns[(panel + at) * *steps..][..*steps]);
        block::<V, WIDTH, COLUMNS, ROWS, PANELS>(rows, of_each, &mut sums[panel * COLUMNS..], *stride, *begins);
        panel += PANELS;
    }
    while panel < panels {
        let only = [&columns[panel * *steps..][..*steps]];
        block::<V, WIDTH, COLUMNS, ROWS, 1>(rows, only, &mut sums[panel * COLUMNS..], *stride, *begins);
        panel += 1;
    }
}

/// Loops over numbers: iterators and closures need not be inlined, and then have not the features of the kernel.
#[inline(always)]
fn block<V: Vector, const WIDTH: usize, const COLUMNS: usize, const ROWS: usize, const PANELS: usize>(
    rows: &[[f32; ROWS]],
    panels: [&[[f32; COLUMNS]]; PANELS],
    out: &mut [f32],
    stride: usize,
    begins: bool,
) {
    let mut panels = panels;
    let mut panel = 0;
    while panel < PANELS {
        panels[panel] = &panels[panel][..rows.len()];
        panel += 1;
    }
    let mut sums = [[[V::splat(0.0); WIDTH]; PANELS]; ROWS];
    let mut step = 0;
    while step < rows.len() {
        let row = &rows[step];
        let mut panel = 0;
        while panel < PANELS {
            let column = &panels[panel][step];
            let mut vectors = [V::splat(0.0); WIDTH];
            let mut vector = 0;
            while vector < WIDTH {
                vectors[vector] = V::load(&column[vector * V::LANES..]);
                vector += 1;
            }
            let mut at = 0;
            while at < ROWS {
                let element = V::splat(row[at]);
                let mut vector = 0;
                while vector < WIDTH {
                    sums[at][panel][vector] = element.multiply_add(vectors[vector], sums[at][panel][vector]);
                    vector += 1;
                }
                at += 1;
            }
            panel += 1;
        }
        step += 1;
    }
    let mut row = 0;
    while row < ROWS {
        let out = &mut out[row * stride..][..PANELS * COLUMNS];
        let mut panel = 0;
        while panel < PANELS {
            let mut vector = 0;
            while vector < WIDTH {
                let out = &mut out[panel * COLUMNS + vector * V::LANES..];
                let sum = sums[row][panel][vector];
                let sum = if begins { sum } else { sum.add(V::load(out)) };
                sum.store(out);
                vector += 1;
            }
            panel += 1;
        }
        row += 1;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{Kernels, MOST_ROWS, PanelProduct, of_any_rows};

    /// The widest that this processor has.
    pub(super) fn kernels() -> Option<Kernels> {
        if is_x86_feature_detected!("avx512f") {
            return Some(Kernels { rows: MOST_ROWS, columns: 32, multiply: avx512 });
        }
        let has_fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        has_fma.then_some(Kernels { rows: 6, columns: 16, multiply: avx2 })
    }

    #[expect(unsafe_code, reason = "a function for some processors only")]
    fn avx512(product: &mut PanelProduct<'_>) {
        #[target_feature(enable = "avx512f")]
        fn multiply(product: &mut PanelProduct<'_>) {
            of_any_rows::<__m512, 2, 32, MOST_ROWS>(product);
        }
        // SAFETY: only kernels of a processor that has the feature call this.
        unsafe { multiply(product) }
    }

    #[expect(unsafe_code, reason = "a function for some processors only")]
    fn avx2(product: &mut PanelProduct<'_>) {
        #[target_feature(enable = "avx2,fma")]
        fn multiply(product: &mut PanelProduct<'_>) {
            of_any_rows::<__m256, 2, 16, 6>(product);
        }
        // SAFETY: only kernels of a processor that has the features call this.
        unsafe { multiply(product) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    pub(super) fn kernels() -> Option<super::Kernels> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products of panels of these many rows, in two blocks of steps, against sums one after another.
    fn check(kernels: &Kernels, rows: usize, panels: usize, steps: usize) {
        let value = |seed: usize, at: usize| ((at * 37 + seed) % 19) as f32 - 9.0;
        let (columns, stride) = (panels * kernels.columns, panels * kernels.columns + 3);
        let mut sums = vec![f32::NAN; rows * stride];
        let mut expected = vec![0f32; rows * columns];
        for block in 0..2 {
            let row_panel: Vec<f32> = (0..rows * steps).map(|at| value(block, at)).collect();
            let column_panels: Vec<f32> = (0..columns * steps).map(|at| value(block + 5, at)).collect();
            let (row_panel, column_panels) = (&row_panel[..], &column_panels[..]);
            kernels.multiply(&mut PanelProduct {
                rows,
                row_panel,
                column_panels,
                steps,
                sums: &mut sums,
                stride,
                begins: block == 0,
            });
            for (at, sum) in expected.iter_mut().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let (panel, within) = (column / kernels.columns, column % kernels.columns);
                for step in 0..steps {
                    let of_column = column_panels[(panel * steps + step) * kernels.columns + within];
                    *sum += row_panel[step * rows + row] * of_column;
                }
            }
        }
        let found = sums.chunks(stride).flat_map(|row| &row[..columns]);
        assert!(found.eq(&expected), "{rows} rows, {panels} panels, {steps} steps");
        assert!(
            sums.chunks(stride).all(|row| row[columns..].iter().all(|value| value.is_nan())),
            "nothing else is written"
        );
    }

    #[test]
    fn panels_of_any_rows_are_multiplied() {
        for kernels in [&PORTABLE, Kernels::native()] {
            for rows in 1..=kernels.rows {
                [(1, 1), (3, 7), (5, 33)].into_iter().for_each(|(panels, steps)| check(kernels, rows, panels, steps));
            }
        }
    }
}
