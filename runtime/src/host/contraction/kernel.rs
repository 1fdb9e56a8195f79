//! Micro-kernels: products of packed panels, for the vectors that this processor has. Panels are of singles, or of integers that are handled
//! as the bits of singles: two of 16 bits, or four of 8, so that a step stands for as many.

use std::sync::OnceLock;

use super::columns::{Columns, Placed, Source, Steps};
use crate::host::simd::{PortablePairs, SumVector};
use crate::host::vector_limit::VectorLimit;

/// Most rows of a panel, whatever the processor.
pub(in crate::host) const MOST_ROWS: usize = 12;

/// The product of one panel of rows with neighbouring panels of columns, over a block of steps.
pub(in crate::host) struct PanelProduct<'p> {
    /// Rows of the panel, at most [`Kernels::rows`].
    pub(in crate::host) rows: usize,
    /// The row factor: `rows` elements a step.
    pub(in crate::host) row_panel: &'p [f32],
    /// The column factor.
    pub(in crate::host) columns: Columns<'p>,
    /// Steps of the block.
    pub(in crate::host) steps: usize,
    /// The sums, row-major.
    pub(in crate::host) sums: &'p mut [f32],
    /// Elements from one row of sums to the next.
    pub(in crate::host) stride: usize,
    /// Whether sums begin with this block, or are added to.
    pub(in crate::host) begins: bool,
}

/// Which of two factors in bytes has a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::host) enum SignedFactor {
    Rows,
    Columns,
}

/// The micro-kernels of an instruction set.
pub(in crate::host) struct Kernels {
    /// Rows of a full panel.
    pub(in crate::host) rows: usize,
    /// Columns of a panel.
    pub(in crate::host) columns: usize,
    /// Singles of a vector.
    pub(in crate::host) lanes: usize,
    multiply: Multiply,
}

type Multiply = fn(&mut PanelProduct<'_>);

impl Kernels {
    /// Those of this processor, of singles.
    pub(in crate::host) fn native() -> &'static Self {
        static KERNELS: OnceLock<Kernels> = OnceLock::new();
        KERNELS.get_or_init(|| x86::kernels(VectorLimit::get()).unwrap_or(PORTABLE))
    }

    /// Those of this processor, of pairs.
    pub(in crate::host) fn native_of_pairs() -> &'static Self {
        static KERNELS: OnceLock<Kernels> = OnceLock::new();
        KERNELS.get_or_init(|| x86::kernels_of_pairs(VectorLimit::get()).pop().unwrap_or(PORTABLE_OF_PAIRS))
    }

    /// Those of this processor, of four bytes each, those of the rows or those of the columns with a sign; `None` if it has none. Their
    /// panels are as those of pairs.
    pub(in crate::host) fn native_of_quads(signed: SignedFactor) -> Option<&'static Self> {
        static KERNELS: OnceLock<[Option<Kernels>; 2]> = OnceLock::new();
        let all = KERNELS.get_or_init(|| {
            [SignedFactor::Rows, SignedFactor::Columns]
                .map(|signed| x86::kernels_of_quads(VectorLimit::get(), signed).pop())
        });
        all[usize::from(signed == SignedFactor::Columns)].as_ref()
    }

    /// Columns of half a panel.
    pub(in crate::host) fn half(&self) -> usize {
        self.columns / 2
    }

    /// Multiplies one panel of rows with all panels of columns.
    pub(in crate::host) fn multiply(&self, product: &mut PanelProduct<'_>) {
        (self.multiply)(product);
    }
}

/// Vectors of four, which any compiler of this century maps to the registers that there are.
const PORTABLE: Kernels =
    Kernels { rows: 6, columns: 16, lanes: 4, multiply: of_any_columns::<[f32; 4], 4, 16, 2, 8, 6> };

/// The same of pairs, of few rows, which make little code.
const PORTABLE_OF_PAIRS: Kernels =
    Kernels { rows: 3, columns: 16, lanes: 4, multiply: of_packed_columns::<PortablePairs, 4, 16, 3> };

/// Of columns in panels, as those of integers always lie.
#[inline(always)]
fn of_packed_columns<V: SumVector, const WIDTH: usize, const COLUMNS: usize, const ROWS: usize>(
    product: &mut PanelProduct<'_>,
) {
    let Columns::Packed(packed) = product.columns else { unreachable!("integers are packed") };
    of_any_rows::<V, Steps<'_, COLUMNS>, WIDTH, COLUMNS, ROWS>(product, packed.into());
}

/// Dispatches on where the columns lie. `WIDTH` vectors are the columns of a panel, and `HALF_WIDTH` those of half a panel.
#[inline(always)]
fn of_any_columns<
    V: SumVector,
    const WIDTH: usize,
    const COLUMNS: usize,
    const HALF_WIDTH: usize,
    const HALF: usize,
    const ROWS: usize,
>(
    product: &mut PanelProduct<'_>,
) {
    match product.columns {
        Columns::Packed(packed) => {
            of_any_rows::<V, Steps<'_, COLUMNS>, WIDTH, COLUMNS, ROWS>(product, packed.into());
        }
        Columns::Placed(placed) => of_any_rows::<V, Placed<'_>, WIDTH, COLUMNS, ROWS>(product, placed),
        Columns::Half(placed) => of_any_rows::<V, Placed<'_>, HALF_WIDTH, HALF, ROWS>(product, placed),
    }
}

/// Dispatches on the number of rows, of which no panel has more than `ROWS`. Kernels of few rows take several panels of columns
/// at once: one has too few sums to hide the latency of their additions.
#[inline(always)]
fn of_any_rows<V: SumVector, S: Source<COLUMNS>, const WIDTH: usize, const COLUMNS: usize, const ROWS: usize>(
    product: &mut PanelProduct<'_>,
    columns: S,
) {
    if product.rows == ROWS {
        return of_rows::<V, S, WIDTH, COLUMNS, ROWS, 1>(product, columns);
    }
    match product.rows {
        0 => {}
        1 if ROWS > 1 => of_rows::<V, S, WIDTH, COLUMNS, 1, 4>(product, columns),
        2 if ROWS > 2 => of_rows::<V, S, WIDTH, COLUMNS, 2, 2>(product, columns),
        3 if ROWS > 3 => of_rows::<V, S, WIDTH, COLUMNS, 3, 1>(product, columns),
        4 if ROWS > 4 => of_rows::<V, S, WIDTH, COLUMNS, 4, 1>(product, columns),
        5 if ROWS > 5 => of_rows::<V, S, WIDTH, COLUMNS, 5, 1>(product, columns),
        6 if ROWS > 6 => of_rows::<V, S, WIDTH, COLUMNS, 6, 1>(product, columns),
        7 if ROWS > 7 => of_rows::<V, S, WIDTH, COLUMNS, 7, 1>(product, columns),
        8 if ROWS > 8 => of_rows::<V, S, WIDTH, COLUMNS, 8, 1>(product, columns),
        9 if ROWS > 9 => of_rows::<V, S, WIDTH, COLUMNS, 9, 1>(product, columns),
        10 if ROWS > 10 => of_rows::<V, S, WIDTH, COLUMNS, 10, 1>(product, columns),
        11 if ROWS > 11 => of_rows::<V, S, WIDTH, COLUMNS, 11, 1>(product, columns),
        rows => unreachable!("no panel has {rows} rows"),
    }
}

#[inline(always)]
fn of_rows<
    V: SumVector,
    S: Source<COLUMNS>,
    const WIDTH: usize,
    const COLUMNS: usize,
    const ROWS: usize,
    const PANELS: usize,
>(
    product: &mut PanelProduct<'_>,
    columns: S,
) {
    let PanelProduct { row_panel, steps, sums, stride, begins, .. } = product;
    let (rows, _) = row_panel.as_chunks::<ROWS>();
    let rows = &rows[..*steps];
    let panels = columns.panels(*steps);
    let mut panel = 0;
    while panel + PANELS <= panels {
        let of_each: [S; PANELS] = std::array::from_fn(|at| columns.panel(panel + at, *steps));
        block::<V, S, WIDTH, COLUMNS, ROWS, PANELS>(rows, of_each, &mut sums[panel * COLUMNS..], *stride, *begins);
        panel += PANELS;
    }
    while panel < panels {
        let only = [columns.panel(panel, *steps)];
        block::<V, S, WIDTH, COLUMNS, ROWS, 1>(rows, only, &mut sums[panel * COLUMNS..], *stride, *begins);
        panel += 1;
    }
}

/// Loops over numbers: iterators and closures need not be inlined, and then have not the features of the kernel.
#[inline(always)]
fn block<
    V: SumVector,
    S: Source<COLUMNS>,
    const WIDTH: usize,
    const COLUMNS: usize,
    const ROWS: usize,
    const PANELS: usize,
>(
    rows: &[[f32; ROWS]],
    panels: [S; PANELS],
    out: &mut [f32],
    stride: usize,
    begins: bool,
) {
    let mut panels = panels;
    let mut panel = 0;
    while panel < PANELS {
        panels[panel] = panels[panel].panel(0, rows.len());
        panel += 1;
    }
    let mut sums = [[[V::splat(0.0); WIDTH]; PANELS]; ROWS];
    let mut step = 0;
    while step < rows.len() {
        let row = &rows[step];
        if let Some(later) = panels[0].later(step) {
            V::fetch(later);
        }
        let mut panel = 0;
        while panel < PANELS {
            let column = panels[panel].at(step);
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

    use super::{Kernels, MOST_ROWS, Multiply, PanelProduct, SignedFactor, of_any_columns, of_packed_columns};
    use crate::host::simd::{
        AddedPairs256, FusedPairs256, FusedPairs512, LoadedSign256, LoadedSign512, SplatSign256, SplatSign512,
    };
    use crate::host::vector_limit::VectorLimit;

    /// The widest that this processor has, up to a limit.
    pub(super) fn kernels(limit: VectorLimit) -> Option<Kernels> {
        if limit >= VectorLimit::Avx512 && is_x86_feature_detected!("avx512f") {
            return Some(Kernels { rows: MOST_ROWS, columns: 32, lanes: 16, multiply: avx512 });
        }
        let has_fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let narrow = Kernels { rows: 6, columns: 16, lanes: 8, multiply: avx2 };
        Some(narrow).filter(|_| limit >= VectorLimit::Avx2 && has_fma)
    }

    /// All of pairs that this processor has, up to a limit, the fastest last.
    pub(super) fn kernels_of_pairs(limit: VectorLimit) -> Vec<Kernels> {
        let narrow = |multiply| Kernels { rows: 6, columns: 16, lanes: 8, multiply };
        let mut found = Vec::new();
        if limit >= VectorLimit::Avx2 && is_x86_feature_detected!("avx2") {
            found.push(narrow(added_256));
            if is_x86_feature_detected!("avxvnni") {
                found.push(narrow(fused_256));
            }
        }
        let has_wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni");
        if limit >= VectorLimit::Avx512 && has_wide {
            found.push(Kernels { rows: MOST_ROWS, columns: 32, lanes: 16, multiply: fused_512 });
        }
        found
    }

    /// All of four bytes each that this processor has, up to a limit, the fastest last.
    pub(super) fn kernels_of_quads(limit: VectorLimit, signed: SignedFactor) -> Vec<Kernels> {
        let (narrow, wide): (Multiply, Multiply) = match signed {
            SignedFactor::Rows => (splat_sign_256, splat_sign_512),
            SignedFactor::Columns => (loaded_sign_256, loaded_sign_512),
        };
        let mut found = Vec::new();
        let has_narrow = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni");
        if limit >= VectorLimit::Avx2 && has_narrow {
            found.push(Kernels { rows: 6, columns: 16, lanes: 8, multiply: narrow });
        }
        let has_wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni");
        if limit >= VectorLimit::Avx512 && has_wide {
            found.push(Kernels { rows: MOST_ROWS, columns: 32, lanes: 16, multiply: wide });
        }
        found
    }

    macro_rules! of_integers {
        ($name:ident, $features:literal, $pairs:ty, $columns:literal, $rows:expr) => {
            #[expect(unsafe_code, reason = "a function for some processors only")]
            fn $name(product: &mut PanelProduct<'_>) {
                #[target_feature(enable = $features)]
                fn multiply(product: &mut PanelProduct<'_>) {
                    of_packed_columns::<$pairs, 2, $columns, { $rows }>(product);
                }
                // SAFETY: only kernels of a processor that has the features call this.
                unsafe { multiply(product) }
            }
        };
    }

    of_integers!(added_256, "avx2", AddedPairs256, 16, 6);
    of_integers!(fused_256, "avx2,avxvnni", FusedPairs256, 16, 6);
    of_integers!(fused_512, "avx512f,avx512vnni", FusedPairs512, 32, MOST_ROWS);
    of_integers!(splat_sign_256, "avx2,avxvnni", SplatSign256, 16, 6);
    of_integers!(loaded_sign_256, "avx2,avxvnni", LoadedSign256, 16, 6);
    of_integers!(splat_sign_512, "avx512f,avx512vnni", SplatSign512, 32, MOST_ROWS);
    of_integers!(loaded_sign_512, "avx512f,avx512vnni", LoadedSign512, 32, MOST_ROWS);

    #[expect(unsafe_code, reason = "a function for some processors only")]
    fn avx512(product: &mut PanelProduct<'_>) {
        #[target_feature(enable = "avx512f")]
        fn multiply(product: &mut PanelProduct<'_>) {
            of_any_columns::<__m512, 2, 32, 1, 16, MOST_ROWS>(product);
        }
        // SAFETY: only kernels of a processor that has the feature call this.
        unsafe { multiply(product) }
    }

    #[expect(unsafe_code, reason = "a function for some processors only")]
    fn avx2(product: &mut PanelProduct<'_>) {
        #[target_feature(enable = "avx2,fma")]
        fn multiply(product: &mut PanelProduct<'_>) {
            of_any_columns::<__m256, 2, 16, 1, 8, 6>(product);
        }
        // SAFETY: only kernels of a processor that has the features call this.
        unsafe { multiply(product) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    use crate::host::vector_limit::VectorLimit;

    pub(super) fn kernels(_limit: VectorLimit) -> Option<super::Kernels> {
        None
    }

    pub(super) fn kernels_of_pairs(_limit: VectorLimit) -> Vec<super::Kernels> {
        Vec::new()
    }

    pub(super) fn kernels_of_quads(_limit: VectorLimit, _signed: super::SignedFactor) -> Vec<super::Kernels> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Packed;
    use super::super::integers::quads::JOINED;
    use super::*;
    use crate::host::memory::Singles;

    fn value(seed: usize, at: usize) -> f32 {
        ((at * 37 + seed) % 19) as f32 - 9.0
    }

    /// Hands the columns of a seed to what multiplies them.
    type WithColumns<'c> = dyn Fn(usize, &mut dyn FnMut(Columns<'_>)) + 'c;

    /// Checks products of so many rows, in two blocks of so many steps, against sums one after another. `columns` gives
    /// the columns of a seed. `element` finds the elements that are summed, by step and column.
    fn check(
        kernels: &Kernels,
        (rows, count, steps): (usize, usize, usize),
        columns: &WithColumns<'_>,
        element: &dyn Fn(usize, usize, usize) -> f32,
    ) {
        let stride = count + 3;
        let mut sums = vec![f32::NAN; rows * stride];
        let mut expected = vec![0f32; rows * count];
        for block in 0..2 {
            let row_panel: Vec<f32> = (0..rows * steps).map(|at| value(block, at)).collect();
            columns(block, &mut |columns| {
                let (row_panel, sums) = (&row_panel[..], &mut sums[..]);
                let begins = block == 0;
                kernels.multiply(&mut PanelProduct { rows, row_panel, columns, steps, sums, stride, begins });
            });
            for (at, sum) in expected.iter_mut().enumerate() {
                let (row, column) = (at / count, at % count);
                *sum += (0..steps).map(|step| row_panel[step * rows + row] * element(block, step, column)).sum::<f32>();
            }
        }
        let found = sums.chunks(stride).flat_map(|row| &row[..count]);
        assert!(found.eq(&expected), "{rows} rows, {count} columns, {steps} steps");
        let is_rest_left = sums.chunks(stride).all(|row| row[count..].iter().all(|value| value.is_nan()));
        assert!(is_rest_left, "nothing else is written");
    }

    /// The bits of a pair.
    fn pair(low: i16, high: i16) -> f32 {
        f32::from_bits(u32::from(low as u16) | u32::from(high as u16) << 16)
    }

    #[test]
    fn pairs_are_multiplied_as_integers() {
        let mut all = x86::kernels_of_pairs(VectorLimit::Avx512);
        all.push(PORTABLE_OF_PAIRS);
        eprintln!("{} of 4 kernels of pairs run on this processor", all.len());
        // The extremes of bytes, of their differences, and of 16 bits.
        let extremes = [255i16, -128, 127, -255, 32767, -32767, 0, 1];
        let factor = |seed: usize, at: usize| extremes[(at * 7 + seed * 3 + at / 5) % extremes.len()];
        for kernels in &all {
            let width = kernels.columns;
            for (rows, steps) in (1..=kernels.rows).flat_map(|rows| [(rows, 1), (rows, 7), (rows, 2048)]) {
                let row_panel: Vec<f32> = (0..rows * steps).map(|at| pair(factor(1, at), factor(2, at))).collect();
                let panels: Vec<f32> = (0..width * steps).map(|at| pair(factor(3, at), factor(4, at))).collect();
                let mut sums = vec![f32::from_bits(7); rows * width];
                for begins in [true, false] {
                    let columns = Columns::Packed(Packed { panels: &panels, later: &[] });
                    let (row_panel, sums) = (&row_panel[..], &mut sums[..]);
                    kernels.multiply(&mut PanelProduct {
                        rows,
                        row_panel,
                        columns,
                        steps,
                        sums,
                        stride: width,
                        begins,
                    });
                }
                for (at, sum) in sums.iter().enumerate() {
                    let products = (0..steps).map(|step| {
                        let (row, column) = (step * rows + at / width, step * width + at % width);
                        let product =
                            |one: usize, other: usize| i64::from(factor(one, row)) * i64::from(factor(other, column));
                        product(1, 3) + product(2, 4)
                    });
                    assert_eq!(
                        sum.to_bits() as i32,
                        (2 * products.sum::<i64>()) as i32,
                        "{rows} rows, {steps} steps, sum {at}"
                    );
                }
            }
        }
    }

    #[test]
    fn quads_are_multiplied_as_bytes() {
        let bytes = [255u8, 128, 127, 0, 1, 129, 200];
        let byte = |seed: usize, at: usize, number: usize| bytes[(at * 5 + seed * 3 + number + at / 7) % bytes.len()];
        let quad = |seed: usize, at: usize| {
            f32::from_bits(u32::from_le_bytes([0, 1, 2, 3].map(|number| byte(seed, at, number))))
        };
        let widened = |byte: u8, is_signed: bool| if is_signed { i32::from(byte as i8) } else { i32::from(byte) };
        for signed in [SignedFactor::Rows, SignedFactor::Columns] {
            let all = x86::kernels_of_quads(VectorLimit::Avx512, signed);
            eprintln!("{} of 2 kernels of quads run on this processor, {signed:?}", all.len());
            for kernels in &all {
                assert_eq!([kernels.rows, kernels.columns], {
                    let pairs = x86::kernels_of_pairs(VectorLimit::Avx512);
                    let same =
                        pairs.iter().find(|pairs| pairs.lanes == kernels.lanes).expect("there are those of pairs");
                    [same.rows, same.columns]
                });
                let width = kernels.columns;
                for (rows, steps) in (1..=kernels.rows).flat_map(|rows| [(rows, 1), (rows, 7), (rows, 1024)]) {
                    let row_panel: Vec<f32> = (0..rows * steps).map(|at| quad(1, at)).collect();
                    let panels: Vec<f32> = (0..width * steps).map(|at| quad(2, at)).collect();
                    let mut sums = vec![f32::NAN; rows * width];
                    let columns = Columns::Packed(Packed { panels: &panels, later: &[] });
                    let product = PanelProduct {
                        rows,
                        row_panel: &row_panel,
                        columns,
                        steps,
                        sums: &mut sums,
                        stride: width,
                        begins: true,
                    };
                    kernels.multiply(&mut { product });
                    for (at, sum) in sums.iter().enumerate() {
                        let products = (0..JOINED * steps).map(|step| {
                            let (row, column) = (step / JOINED * rows + at / width, step / JOINED * width + at % width);
                            widened(byte(1, row, step % JOINED), signed == SignedFactor::Rows)
                                * widened(byte(2, column, step % JOINED), signed == SignedFactor::Columns)
                        });
                        assert_eq!(sum.to_bits() as i32, products.sum::<i32>(), "{rows} rows, {steps} steps, sum {at}");
                    }
                }
            }
        }
    }

    fn for_each_size(test: impl Fn(&Kernels, usize, usize, usize)) {
        for kernels in [&PORTABLE, Kernels::native()] {
            for rows in 1..=kernels.rows {
                [(1, 1), (3, 7), (5, 33)].into_iter().for_each(|(panels, steps)| test(kernels, rows, panels, steps));
            }
        }
    }

    #[test]
    fn panels_of_any_rows_are_multiplied() {
        for_each_size(|kernels, rows, panels, steps| {
            let width = kernels.columns;
            let columns = |block: usize, multiply: &mut dyn FnMut(Columns<'_>)| {
                let packed: Vec<f32> = (0..panels * width * steps).map(|at| value(block + 5, at)).collect();
                multiply(Columns::Packed(Packed { panels: &packed, later: &packed[..packed.len() / 3] }));
            };
            let element = |block: usize, step: usize, column: usize| {
                value(block + 5, (column / width * steps + step) * width + column % width)
            };
            check(kernels, (rows, panels * width, steps), &columns, &element);
        });
    }

    #[test]
    fn columns_are_multiplied_where_they_lie() {
        for_each_size(|kernels, rows, panels, steps| {
            let offsets: Vec<usize> = (0..steps).map(|step| step * 3 % 11).collect();
            let element = |block: usize, step: usize, column: usize| value(block + 5, 2 + step * 3 % 11 + column);
            for (is_half, count) in [(false, panels * kernels.columns), (true, kernels.half())] {
                let columns = |block: usize, multiply: &mut dyn FnMut(Columns<'_>)| {
                    let values: Vec<f32> = (0..count + 13).map(|at| value(block + 5, at)).collect();
                    let panels = if is_half { 1 } else { panels };
                    let placed = Placed { singles: Singles::of(&values), first: 2, offsets: &offsets, panels };
                    multiply(if is_half { Columns::Half(placed) } else { Columns::Placed(placed) });
                };
                check(kernels, (rows, count, steps), &columns, &element);
            }
        });
    }

    #[test]
    #[should_panic(expected = "a panel lies in its memory")]
    fn nothing_beyond_the_columns_is_read() {
        let (kernels, values) = (Kernels::native(), vec![0.0; Kernels::native().columns]);
        let placed = Placed { singles: Singles::of(&values), first: 0, offsets: &[0, 1], panels: 1 };
        let (columns, mut sums) = (Columns::Placed(placed), vec![0.0; kernels.columns]);
        let (row_panel, sums, stride) = (&[1.0, 1.0][..], &mut sums[..], kernels.columns);
        kernels.multiply(&mut PanelProduct { rows: 1, row_panel, columns, steps: 2, sums, stride, begins: true });
    }
}
