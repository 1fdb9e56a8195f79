//! Loads of matrices from shared memory, and their products. Lanes find elements where PTX's documentation puts them (PTX ISA,
//! Matrix Fragments for mma.m16n8k8 and mma.m16n8k16; ldmatrix), as the kernels' text says once more.

use warpweave_plan::tensor_core::sum::{FactorFormat, SumFormat, TensorCore, Term};
use warpweave_runtime::sass::execute::fault::FaultKind;
use warpweave_runtime::sass::execute::grid::ExecuteOptions;
use warpweave_runtime::target::Target;

use crate::harness::{Kernels, LANES, Numbers, TARGETS};

/// A product: its name in PTX, its instruction, and where a kernel finds the elements of its matrices.
struct Product {
    name: &'static str,
    opcode: &'static str,
    depth: usize,
    factors: FactorFormat,
    sums: SumFormat,
}

const PRODUCTS: [Product; 8] = {
    use FactorFormat::{BFloat16, Half, TensorFloat32};
    const fn of(
        name: &'static str,
        opcode: &'static str,
        depth: usize,
        factors: FactorFormat,
        sums: SumFormat,
    ) -> Product {
        Product { name, opcode, depth, factors, sums }
    }
    let (half, single) = (SumFormat::Half, SumFormat::Single);
    [
        of("m16n8k16.row.col.f32.f16.f16.f32", "HMMA.16816.F32", 16, Half, single),
        of("m16n8k16.row.col.f32.bf16.bf16.f32", "HMMA.16816.F32.BF16", 16, BFloat16, single),
        of("m16n8k16.row.col.f16.f16.f16.f16", "HMMA.16816.F16", 16, Half, half),
        of("m16n8k8.row.col.f32.f16.f16.f32", "HMMA.1688.F32", 8, Half, single),
        of("m16n8k8.row.col.f32.bf16.bf16.f32", "HMMA.1688.F32.BF16", 8, BFloat16, single),
        of("m16n8k8.row.col.f16.f16.f16.f16", "HMMA.1688.F16", 8, Half, half),
        of("m16n8k8.row.col.f32.tf32.tf32.f32", "HMMA.1688.F32.TF32", 8, TensorFloat32, single),
        of("m16n8k4.row.col.f32.tf32.tf32.f32", "HMMA.1684.F32.TF32", 4, TensorFloat32, single),
    ]
};

impl Product {
    /// A kernel that reads three matrices by rows and writes the sums by rows. Elements of 16 bits stand in words of their own.
    fn body(&self) -> String {
        let depth = self.depth;
        let is_wide = self.factors == FactorFormat::TensorFloat32;
        let (left_count, right_count) = if is_wide { (depth / 2, depth / 4) } else { (depth / 4, depth / 8) };
        let sum_count = if self.sums == SumFormat::Half { 2 } else { 4 };
        let mut text = format!(
            "unsigned const group = lane >> 2, member = lane & 3; unsigned const* const left = in; \
             unsigned const* const right = in + {}; unsigned const* const old = in + {}; \
             unsigned a[{left_count}], b[{right_count}], c[{sum_count}]; ",
            16 * depth,
            24 * depth
        );
        for register in 0..left_count {
            let row = format!("(group + {})", 8 * (register % 2));
            text += &if is_wide {
                format!("a[{register}] = left[{row} * {depth} + member + {}]; ", 4 * (register / 2))
            } else {
                let first = format!("left[{row} * {depth} + member * 2 + {}]", 8 * (register / 2));
                let second = format!("left[{row} * {depth} + member * 2 + {}]", 8 * (register / 2) + 1);
                format!("a[{register}] = {first} | {second} << 16; ")
            };
        }
        for register in 0..right_count {
            text += &if is_wide {
                format!("b[{register}] = right[(member + {}) * 8 + group]; ", 4 * register)
            } else {
                let first = format!("right[(member * 2 + {}) * 8 + group]", 8 * register);
                let second = format!("right[(member * 2 + {}) * 8 + group]", 8 * register + 1);
                format!("b[{register}] = {first} | {second} << 16; ")
            };
        }
        let sum = |register: usize, part: usize| match self.sums {
            SumFormat::Half => format!("(group + {}) * 8 + member * 2 + {part}", 8 * register),
            SumFormat::Single => format!("(group + {}) * 8 + member * 2 + {}", 8 * (register / 2), register % 2),
        };
        for register in 0..sum_count {
            text += &match self.sums {
                SumFormat::Half => {
                    format!("c[{register}] = old[{}] | old[{}] << 16; ", sum(register, 0), sum(register, 1))
                }
                SumFormat::Single => format!("c[{register}] = old[{}]; ", sum(register, 0)),
            };
        }
        let numbered = |first: usize, count: usize| {
            let names: Vec<String> = (first..first + count).map(|number| format!("%{number}")).collect();
            format!("{{{}}}", names.join(","))
        };
        let operands = |constraint: &str, name: &str, count: usize| {
            let all: Vec<String> = (0..count).map(|index| format!("\"{constraint}\"({name}[{index}])")).collect();
            all.join(", ")
        };
        text += &format!(
            "asm volatile(\"mma.sync.aligned.{} {}, {}, {}, {};\" : {} : {}, {}); ",
            self.name,
            numbered(0, sum_count),
            numbered(sum_count, left_count),
            numbered(sum_count + left_count, right_count),
            numbered(0, sum_count),
            operands("+r", "c", sum_count),
            operands("r", "a", left_count),
            operands("r", "b", right_count),
        );
        for register in 0..sum_count {
            text += &match self.sums {
                SumFormat::Half => format!(
                    "out[{}] = c[{register}] & 0xffff; out[{}] = c[{register}] >> 16; ",
                    sum(register, 0),
                    sum(register, 1)
                ),
                SumFormat::Single => format!("out[{}] = c[{register}]; ", sum(register, 0)),
            };
        }
        text
    }

    /// Matrices of ordinary numbers whose exponents differ by up to 15, with an infinity and a NaN among the sums.
    fn input(&self, numbers: &mut Numbers) -> Vec<u32> {
        let factor = |word: u32| match self.factors {
            FactorFormat::Half => word & 0x83ff | (7 + (word >> 16) % 16) << 10,
            FactorFormat::BFloat16 => word & 0x807f | (119 + (word >> 16) % 16) << 7,
            FactorFormat::TensorFloat32 => word & 0x807f_ffff | (119 + (word >> 24) % 16) << 23,
        };
        let sum = |word: u32| match self.sums {
            SumFormat::Half => word & 0x83ff | (7 + (word >> 16) % 16) << 10,
            SumFormat::Single => word & 0x807f_ffff | (119 + (word >> 24) % 16) << 23,
        };
        let mut input: Vec<u32> = (0..24 * self.depth).map(|_| factor(numbers.next())).collect();
        input.extend((0..128).map(|_| sum(numbers.next())));
        let (infinity, nan) = if self.sums == SumFormat::Half { (0x7c00, 0xfe01) } else { (0x7f80_0000, 0xffc0_0001) };
        let last = input.len() - 1;
        (input[last], input[last - 1]) = (infinity, nan);
        input
    }

    fn expected(&self, core: TensorCore, input: &[u32]) -> Vec<u32> {
        let decode = |bits: &u32| self.factors.decode(*bits);
        let terms: Vec<Term> = input[..24 * self.depth].iter().map(decode).collect();
        let sum = |index: usize| {
            let (row, column) = (index / 8, index % 8);
            let left = &terms[row * self.depth..][..self.depth];
            let right: Vec<Term> = (0..self.depth).map(|k| terms[16 * self.depth + 8 * k + column]).collect();
            core.dot(self.factors, self.sums, left, &right, input[24 * self.depth + index])
        };
        (0..128).map(sum).collect()
    }
}

#[test]
fn products_are_those_of_the_generation() {
    let bodies: Vec<String> = PRODUCTS.iter().map(Product::body).collect();
    let mut results: Vec<Vec<Vec<u32>>> = Vec::new();
    for target in TARGETS {
        let core = if target == Target::Sm80 { TensorCore::Ampere } else { TensorCore::Hopper };
        let kernels = Kernels::compile(target, &bodies);
        let mut numbers = Numbers(99);
        let mut own = Vec::new();
        for (kernel, product) in PRODUCTS.iter().enumerate() {
            let opcodes = kernels.opcodes(kernel);
            assert!(opcodes.iter().any(|found| found == product.opcode), "{} on {target}: {opcodes:?}", product.name);
            for _ in 0..20 {
                let input = product.input(&mut numbers);
                let found = kernels.run(kernel, &input, 128);
                assert_eq!(found, product.expected(core, &input), "{} on {target}", product.name);
                own.push(found);
            }
        }
        results.push(own);
    }
    assert_ne!(results[0], results[1], "generations differ in the last bits");
}

#[test]
fn products_of_small_integers_are_exact() {
    let product = &PRODUCTS[0];
    // Halves of the integers -8 to 7, whose products and sums every unit computes exactly.
    let half = |value: i32| u32::from(half::f16::from_f32(value as f32).to_bits());
    let (left, right) =
        (|row: i32, k: i32| (row * 5 + k * 3) % 16 - 8, |k: i32, column: i32| (k * 7 + column) % 16 - 8);
    let mut input: Vec<u32> = (0..256).map(|index| half(left(index / 16, index % 16))).collect();
    input.extend((0..128).map(|index| half(right(index / 8, index % 8))));
    input.extend((0..128).map(|index| (index as f32).to_bits()));
    let sum = |index: i32| index + (0..16).map(|k| left(index / 8, k) * right(k, index % 8)).sum::<i32>();
    let expected: Vec<u32> = (0..128).map(|index| (sum(index) as f32).to_bits()).collect();
    for target in TARGETS {
        assert_eq!(Kernels::compile(target, &[product.body()]).run(0, &input, 128), expected, "{target}");
    }
}

/// A kernel that stores 128 words to shared memory and loads matrices from it. Lane `n` gives the address of row `n`, which
/// begins `(n * 5) % 32` rows of 16 bytes behind the first.
fn load(count: usize, transposes: bool, offset: &str) -> String {
    let registers: Vec<String> = (0..count).map(|register| format!("%{register}")).collect();
    let results: Vec<String> = (0..count).map(|register| format!("\"=r\"(d[{register}])")).collect();
    format!(
        "__shared__ __align__(16) unsigned s[128]; \
         for (int i = 0; i < 4; ++i) s[lane + 32 * i] = in[lane + 32 * i]; __syncwarp(); \
         unsigned d[{count}]; unsigned const row = (lane * 5) % 32; \
         asm volatile(\"ldmatrix.sync.aligned.m8n8.x{count}{}.shared.b16 {{{}}}, [%{count}];\" : {} \
         : \"r\"((unsigned)__cvta_generic_to_shared(s) + 16 * row{offset}) : \"memory\"); \
         for (int i = 0; i < {count}; ++i) out[i * 32 + lane] = d[i];",
        if transposes { ".trans" } else { "" },
        registers.join(","),
        results.join(", "),
    )
}

#[test]
fn matrices_are_loaded_by_rows() {
    let forms: Vec<(usize, bool)> = [1, 2, 4].into_iter().flat_map(|count| [(count, false), (count, true)]).collect();
    let opcodes = ["LDSM.16.M88", "LDSM.16.MT88", "LDSM.16.M88.2", "LDSM.16.MT88.2", "LDSM.16.M88.4", "LDSM.16.MT88.4"];
    let bodies: Vec<String> = forms.iter().map(|(count, transposes)| load(*count, *transposes, "")).collect();
    let mut numbers = Numbers(3);
    let input: Vec<u32> = (0..128).map(|_| numbers.next()).collect();
    let element = |matrix: usize, row: usize, column: usize| {
        let first = 4 * ((8 * matrix + row) * 5 % 32);
        input[first + column / 2] >> (16 * (column % 2)) & 0xffff
    };
    for target in TARGETS {
        let kernels = Kernels::compile(target, &bodies);
        for (kernel, (count, transposes)) in forms.iter().enumerate() {
            assert!(kernels.opcodes(kernel).contains(&opcodes[kernel].to_owned()), "{target}: {}", opcodes[kernel]);
            let expected = |index: usize| {
                let (matrix, lane) = (index / LANES, index % LANES);
                let (major, minor) = (lane / 4, 2 * (lane % 4));
                match transposes {
                    false => element(matrix, major, minor) | element(matrix, major, minor + 1) << 16,
                    true => element(matrix, minor, major) | element(matrix, minor + 1, major) << 16,
                }
            };
            let expected: Vec<u32> = (0..count * LANES).map(expected).collect();
            assert_eq!(kernels.run(kernel, &input, count * LANES), expected, "{} on {target}", opcodes[kernel]);
        }
    }
}

#[test]
fn rows_of_matrices_are_aligned_written_and_inside() {
    let parted = load(4, false, "").replace("unsigned d[4];", "if (lane < 16) return; unsigned d[4];");
    let unwritten = load(4, false, "").replace("i < 4; ++i) s[", "i < 3; ++i) s[");
    let bodies = [load(4, false, " + 8"), load(4, true, " + 16"), unwritten, parted];
    let input = [7; 128];
    for target in TARGETS {
        let kernels = Kernels::compile(target, &bodies);
        let fault = |kernel| kernels.fault(kernel, &input, 128, &ExecuteOptions::default());
        assert!(matches!(fault(0), FaultKind::Misaligned(..)), "{target}");
        assert!(matches!(fault(1), FaultKind::Outside(..)), "{target}");
        assert!(matches!(fault(2), FaultKind::Unwritten(..)), "{target}");
        assert!(matches!(fault(3), FaultKind::Converge { lanes: 0xffff }), "{target}");
    }
}
