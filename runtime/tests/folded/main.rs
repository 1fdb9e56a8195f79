//! Instructions beside what NVRTC computes itself: of operands that it knows it stores the result, of others it makes the
//! instruction. Needs `scripts/fetch_cuda.sh`, but no GPU.

mod kernels;
mod operands;
mod operations;

use kernels::{Difference, Trial};
use operations::{Type, operations};

/// Operations that NVRTC folds at least, and results of them that are compared.
const LEAST_FOLDED: usize = 150;
const LEAST_COMPARED: usize = 10_000;

/// Whether NVRTC folds a result otherwise than PTX's documentation says.
fn is_wrongly_folded(name: &str, [first, _, last]: [u64; 3]) -> bool {
    match name {
        // The first operand where the third is not negative, and the second elsewhere.
        "slct.s32.s32" => [0x7fff_ffff, 0x8000_0000].contains(&last),
        // A whole number, which is what it is converted to.
        "__double2ull_rn(a)" | "cvt.rni.u64.f64" => first == 0x433f_ffff_ffff_ffff,
        _ => false,
    }
}

/// Whether a difference is one of payloads, which PTX leaves open: both results are NaN.
fn is_of_payloads(result: Type, difference: &Difference) -> bool {
    let is_nan = |bits: u64| match result {
        Type::Single => f32::from_bits(bits as u32).is_nan(),
        Type::Double => f64::from_bits(bits).is_nan(),
        _ => false,
    };
    is_nan(difference.folded) && is_nan(difference.executed)
}

#[test]
fn instructions_give_what_the_compiler_folds() {
    let operations = operations();
    let trials = Trial::all(&operations);
    let mut complaints = Vec::new();
    let (mut folded, mut compared) = (0, 0);
    for trial in &trials {
        let name = &trial.operation.name;
        if !trial.has_instruction {
            complaints.push(format!("{name}: its code has none of {:?}", trial.operation.opcodes));
        }
        if trial.is_folded {
            folded += 1;
            compared += trial.sets.len();
        }
        for difference in trial.differences() {
            let Difference { operands, folded, executed } = difference;
            if !is_wrongly_folded(name, operands) && !is_of_payloads(trial.operation.result, &difference) {
                complaints.push(format!("{name} of {operands:x?} is {executed:#x} and folded {folded:#x}"));
            }
        }
    }
    eprintln!("{folded} of {} operations are folded, {compared} results compared", trials.len());
    assert!(complaints.is_empty(), "{} complaints: {complaints:#?}", complaints.len());
    assert!(folded >= LEAST_FOLDED && compared >= LEAST_COMPARED);
    check_that_a_wrong_result_is_found(trials);
}

/// One bit of one result of each operation is turned over.
fn check_that_a_wrong_result_is_found(mut trials: Vec<Trial<'_>>) {
    for trial in &mut trials {
        let before = trial.differences().count();
        let place = (0..trial.sets.len()).find(|place| trial.folded[*place] == trial.executed[*place]);
        trial.executed[place.expect("some results agree")] ^= 1;
        assert_eq!(trial.differences().count(), before + 1, "{}", trial.operation.name);
    }
}
