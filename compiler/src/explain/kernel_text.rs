//! What the instructions of a kernel are, whether or not they are executed.

use std::ops::RangeInclusive;

use warpweave_runtime::sass::instruction::Code;
use warpweave_runtime::sass::operation::{Modifier, Operation};
use warpweave_runtime::sass::program::{Function, INSTRUCTION_BYTES, MachineCode};

/// How much code a kernel is, and what of it works on matrices.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KernelText {
    /// From the first instruction to the last, padding included.
    pub bytes: u64,
    /// `HMMA` instructions.
    pub matrix_products: usize,
    /// Conversions from binary16 to singles that stand in a loop with a product of matrices. Those from bfloat16 are shifts, and
    /// are not told from others.
    pub conversions_in_products: usize,
    /// Of these conversions, those in a loop with such an instruction that has no inner loop with one.
    pub conversions_beside_products: usize,
}

impl KernelText {
    /// The text of a function. A loop is what lies between a jump backwards and where it goes.
    pub fn of(code: &MachineCode, function: &Function) -> Self {
        let places = function.start..function.end;
        let is_product = |place: &usize| code.code[*place].operation == Operation::Hmma;
        let back = |place: usize| -> Option<RangeInclusive<usize>> {
            let Code { operation: Operation::Bra, target: Some(target), .. } = &code.code[place] else { return None };
            (places.contains(target) && *target <= place).then_some(*target..=place)
        };
        let loops: Vec<RangeInclusive<usize>> = places.clone().filter_map(back).collect();
        let products: Vec<_> = loops.into_iter().filter(|own| own.clone().any(|place| is_product(&place))).collect();
        let has_inner = |own: &RangeInclusive<usize>| products.iter().any(|inner| is_inside(inner, own));
        let innermost: Vec<_> = products.iter().filter(|own| !has_inner(own)).cloned().collect();
        let conversions = |loops: &[RangeInclusive<usize>]| {
            let is_within = |place: &usize| loops.iter().any(|own| own.contains(place));
            places.clone().filter(|place| widens(&code.code[*place]) && is_within(place)).count()
        };
        Self {
            bytes: places.len() as u64 * INSTRUCTION_BYTES,
            matrix_products: places.clone().filter(is_product).count(),
            conversions_in_products: conversions(&products),
            conversions_beside_products: conversions(&innermost),
        }
    }
}

/// Whether a loop is a part of another one.
fn is_inside(inner: &RangeInclusive<usize>, outer: &RangeInclusive<usize>) -> bool {
    inner != outer && outer.contains(inner.start()) && outer.contains(inner.end())
}

/// Whether an instruction makes a single of a half.
fn widens(code: &Code) -> bool {
    code.operation == Operation::Hadd2 && code.has(Modifier::F32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(lines: &[&str]) -> KernelText {
        let mut listing = String::from(".text.k0:\n");
        for (place, line) in lines.iter().enumerate() {
            match line.strip_suffix(':') {
                Some(_) => listing += &format!("{line}\n"),
                None => {
                    listing += &format!("        /*{:04x}*/  {line} ; /* 0x0000000000000000 */\n", 16 * place);
                    listing += "        /* 0x0000000000000000 */\n";
                }
            }
        }
        let code = MachineCode::parse(&listing).expect("the listing is read");
        KernelText::of(&code, code.function("k0").expect("it has the function"))
    }

    const PRODUCT: &str = "HMMA.16816.F32 R0, R4, R9, R0";
    const WIDENING: &str = "HADD2.F32 R5, -RZ, R4.H0_H0";

    #[test]
    fn conversions_count_in_loops_with_products_alone() {
        let (jump, end) = ("@P0 BRA `(.L_0)", "EXIT");
        let inside = text_of(&[".L_0:", PRODUCT, WIDENING, WIDENING, jump, end]);
        assert_eq!(
            inside,
            KernelText { bytes: 80, matrix_products: 1, conversions_in_products: 2, conversions_beside_products: 2 }
        );
        let behind = text_of(&[".L_0:", PRODUCT, jump, WIDENING, end]);
        assert_eq!(behind, KernelText { bytes: 64, matrix_products: 1, ..KernelText::default() });
        let elsewhere = text_of(&[PRODUCT, ".L_0:", WIDENING, jump, end]);
        assert_eq!(elsewhere.conversions_in_products, 0, "the loop has no product");
    }

    #[test]
    fn a_loop_holds_the_loops_within() {
        let nested = [".L_0:", WIDENING, ".L_1:", PRODUCT, "@P0 BRA `(.L_1)", "@P1 BRA `(.L_0)", "EXIT"];
        let found = text_of(&nested);
        assert_eq!(found.conversions_in_products, 1, "the outer loop has the product, too");
        assert_eq!(found.conversions_beside_products, 0, "the inner loop has no conversion");
    }

    #[test]
    fn other_operations_of_halves_are_no_conversions() {
        let sums = [".L_0:", PRODUCT, "HADD2 R5, R4, R6", "@P0 BRA `(.L_0)", "EXIT"];
        assert_eq!(text_of(&sums).conversions_in_products, 0);
    }
}
