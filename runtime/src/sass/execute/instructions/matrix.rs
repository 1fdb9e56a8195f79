//! Products of matrices that the lanes of a warp hold together.

use warpweave_plan::tensor_core::fragment::{FragmentKind, MatrixOperand, RegisterWords};
use warpweave_plan::tensor_core::sum::{FactorFormat, SumFormat};

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Adjustment, Operand, Register};
use super::super::super::operation::{Modifier, Operation};
use super::super::fault::FaultKind;
use super::super::lanes::{ALL, Lanes};
use super::super::warp::{Warp, ZERO_REGISTER};
use super::action::{Action, Context, Execute};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    if code.operation != Operation::Hmma {
        return Ok(None);
    }
    let unknown = || CodeError::Form(code.text.clone());
    let kind = kind(code).ok_or_else(unknown)?;
    let [result, left, right, sums] = &code.operands[..] else {
        return Err(unknown());
    };
    let registers = |operand: &Operand, matrix| match operand {
        Operand::Register(Register(first), adjustment) if *adjustment == Adjustment::default() => {
            Registers::new(usize::from(*first), kind.registers(matrix)).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    };
    Ok(Some(Box::new(MultiplyAdd {
        kind,
        result: registers(result, MatrixOperand::Sums)?,
        left: registers(left, MatrixOperand::Left)?,
        right: registers(right, MatrixOperand::Right)?,
        sums: registers(sums, MatrixOperand::Sums)?,
    })))
}

/// What an instruction multiplies.
fn kind(code: &Code) -> Option<FragmentKind> {
    let factors = match (code.has(Modifier::Bf16), code.has(Modifier::Tf32)) {
        (false, false) => FactorFormat::Half,
        (true, false) => FactorFormat::BFloat16,
        (false, true) => FactorFormat::TensorFloat32,
        (true, true) => return None,
    };
    let sums = match (code.has(Modifier::F16), code.has(Modifier::F32)) {
        (true, false) if factors == FactorFormat::Half => SumFormat::Half,
        (false, true) => SumFormat::Single,
        _ => return None,
    };
    let depth = match () {
        () if code.has(Modifier::Shape16816) && factors != FactorFormat::TensorFloat32 => 16,
        () if code.has(Modifier::Shape1688) => 8,
        () if code.has(Modifier::Shape1684) && factors == FactorFormat::TensorFloat32 => 4,
        () => return None,
    };
    Some(FragmentKind { depth, factors, sums })
}

/// Consecutive registers of each lane, or as many zeros.
#[derive(Clone, Copy, Debug)]
struct Registers {
    first: usize,
    count: usize,
}

impl Registers {
    fn new(first: usize, count: usize) -> Option<Self> {
        (first == ZERO_REGISTER || first + count <= ZERO_REGISTER).then_some(Self { first, count })
    }

    fn read(self, warp: &Warp) -> Vec<RegisterWords> {
        let register = |distance| if self.first == ZERO_REGISTER { ZERO_REGISTER } else { self.first + distance };
        (0..self.count).map(|distance| warp.register(register(distance)).0).collect()
    }
}

/// Sums plus a product of two matrices.
struct MultiplyAdd {
    kind: FragmentKind,
    result: Registers,
    left: Registers,
    right: Registers,
    sums: Registers,
}

impl Execute for MultiplyAdd {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        whole_warp(mask)?;
        let [left, right, sums] = [self.left, self.right, self.sums].map(|registers| registers.read(warp));
        let results = self.kind.multiply_add(context.tensor_core, &left, &right, &sums);
        if self.result.first != ZERO_REGISTER {
            for (distance, words) in results.into_iter().enumerate().take(self.result.count) {
                warp.write(self.result.first + distance, mask, &Lanes(words));
            }
        }
        Ok(())
    }
}

/// A fault unless every lane executes an instruction: PTX leaves undefined what others of its matrices are.
pub fn whole_warp(mask: u32) -> Result<(), FaultKind> {
    if mask == ALL { Ok(()) } else { Err(FaultKind::Converge { lanes: !mask }) }
}
