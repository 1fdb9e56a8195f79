//! Arithmetic over the 32 lanes of a warp.

use crate::emulate::bytecode::scalar::{
    NarrowBinary, NarrowUnary, WideBinary, WideCompare, WideUnary, fused_multiply_add,
};
use crate::emulate::bytecode::{Index, Instruction, Slot, WideSlot};
use crate::emulate::compile::fast_divide_bits;
use crate::kernel_ir::ShuffleMode;

/// A narrow register.
pub type Lanes = [u32; 32];
/// A wide register.
pub type WideLanes = [i64; 32];

/// All lanes.
pub const ALL: u32 = !0;

/// The registers and saved masks of a warp in one body.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub narrow: Vec<Lanes>,
    pub wide: Vec<WideLanes>,
    /// Saved active lanes, and for an `If` the lanes of its other branch.
    pub masks: Vec<(u32, u32)>,
}

/// Calls `$run` with the operation as a constant, so that each has a loop of its own.
macro_rules! specialise {
    ($op:expr, $type:ident, $run:expr, [$($name:ident),* $(,)?]) => {
        match $op {
            $($type::$name => $run($type::$name),)*
        }
    };
}

impl Frame {
    /// Writes the active lanes of `to`.
    #[inline(always)]
    pub fn write(&mut self, to: Slot, active: u32, values: &Lanes) {
        let register = &mut self.narrow[to.0 as usize];
        if active == ALL {
            *register = *values;
        } else {
            for lane in 0..32 {
                if active >> lane & 1 != 0 {
                    register[lane] = values[lane];
                }
            }
        }
    }

    /// Writes the active lanes of `to`.
    #[inline(always)]
    pub fn write_wide(&mut self, to: WideSlot, active: u32, values: &WideLanes) {
        let register = &mut self.wide[to.0 as usize];
        if active == ALL {
            *register = *values;
        } else {
            for lane in 0..32 {
                if active >> lane & 1 != 0 {
                    register[lane] = values[lane];
                }
            }
        }
    }

    /// A narrow register.
    #[inline(always)]
    pub fn lanes(&self, slot: Slot) -> &Lanes {
        &self.narrow[slot.0 as usize]
    }

    /// A wide register.
    #[inline(always)]
    pub fn wide_lanes(&self, slot: WideSlot) -> &WideLanes {
        &self.wide[slot.0 as usize]
    }

    /// A lane's index, of either width.
    #[inline(always)]
    pub fn index(&self, index: Index, lane: usize) -> i64 {
        match index {
            Index::Narrow(slot) => i64::from(self.lanes(slot)[lane] as i32),
            Index::Wide(slot) => self.wide_lanes(slot)[lane],
        }
    }

    /// The active lanes in which a `Bool` holds.
    #[inline(always)]
    pub fn holds(&self, condition: Slot, active: u32) -> u32 {
        let lanes = self.lanes(condition);
        let mut mask = 0;
        for (lane, bits) in lanes.iter().enumerate() {
            mask |= (bits & 1) << lane;
        }
        mask & active
    }

    /// The common value of the active lanes, `None` if they differ.
    pub fn uniform(&self, slot: Slot, active: u32) -> Option<u32> {
        let lanes = self.lanes(slot);
        let first = lanes[active.trailing_zeros() as usize & 31];
        (0..32).all(|lane| active >> lane & 1 == 0 || lanes[lane] == first).then_some(first)
    }

    /// Runs an arithmetic instruction; gives back any other.
    #[inline(always)]
    pub fn arithmetic(&mut self, instruction: Instruction, active: u32) -> Option<Instruction> {
        match instruction {
            Instruction::FusedMultiplyAdd { to, x, y, z } => {
                let result = fused(self.lanes(x), self.lanes(y), self.lanes(z));
                self.write(to, active, &result);
            }
            Instruction::Binary { op, to, x, y } => self.binary(op, to, x, y, active),
            Instruction::Unary { op, to, x } => self.unary(op, to, x, active),
            Instruction::Select { to, condition, x, y } => {
                let (c, x, y) = (self.lanes(condition), self.lanes(x), self.lanes(y));
                let result = each_lane(|lane| (x[lane] & c[lane]) | (y[lane] & !c[lane]));
                self.write(to, active, &result);
            }
            Instruction::Move { to, x } => {
                let result = *self.lanes(x);
                self.write(to, active, &result);
            }
            Instruction::FastDivide { to, x, multiplier, shift } => {
                let (x, m, s) = (self.lanes(x), self.lanes(multiplier), self.lanes(shift));
                let result = each_lane(|lane| fast_divide_bits(x[lane], m[lane], s[lane]));
                self.write(to, active, &result);
            }
            Instruction::UnaryWide { op, to, x } => self.unary_wide(op, to, x, active),
            Instruction::BinaryWide { op, to, x, y } => self.binary_wide(op, to, x, y, active),
            Instruction::CompareWide { op, to, x, y } => self.compare_wide(op, to, x, y, active),
            Instruction::SelectWide { to, condition, x, y } => {
                let (c, x, y) = (self.lanes(condition), self.wide_lanes(x), self.wide_lanes(y));
                let result = each_lane(|lane| if c[lane] != 0 { x[lane] } else { y[lane] });
                self.write_wide(to, active, &result);
            }
            Instruction::MoveWide { to, x } => {
                let result = *self.wide_lanes(x);
                self.write_wide(to, active, &result);
            }
            Instruction::Widen { to, x } => {
                let x = self.lanes(x);
                let result = each_lane(|lane| i64::from(x[lane] as i32));
                self.write_wide(to, active, &result);
            }
            Instruction::WidenF32 { to, x } => {
                let result = self.lanes(x).map(|x| f32::from_bits(x) as i64);
                self.write_wide(to, active, &result);
            }
            Instruction::Narrow { to, x } => {
                let result = self.wide_lanes(x).map(|x| x as u32);
                self.write(to, active, &result);
            }
            Instruction::NarrowF32 { to, x } => {
                let result = self.wide_lanes(x).map(|x| (x as f32).to_bits());
                self.write(to, active, &result);
            }
            other => return Some(other),
        }
        None
    }

    #[inline(always)]
    fn map(&mut self, to: Slot, x: Slot, active: u32, f: impl Fn(u32) -> u32) {
        let x = self.lanes(x);
        let result = each_lane(|lane| f(x[lane]));
        self.write(to, active, &result);
    }

    #[inline(always)]
    fn map2(&mut self, to: Slot, x: Slot, y: Slot, active: u32, f: impl Fn(u32, u32) -> u32) {
        let (x, y) = (self.lanes(x), self.lanes(y));
        let result = each_lane(|lane| f(x[lane], y[lane]));
        self.write(to, active, &result);
    }

    fn unary(&mut self, op: NarrowUnary, to: Slot, x: Slot, active: u32) {
        specialise!(
            op,
            NarrowUnary,
            |op: NarrowUnary| self.map(to, x, active, |x| op.apply(x)),
            [
                NegateI32,
                AbsoluteI32,
                NegateF32,
                AbsoluteF32,
                Not,
                Exp,
                Log,
                Sqrt,
                Tanh,
                Logistic,
                Erf,
                Sin,
                Cos,
                Atan,
                Floor,
                Ceil,
                RoundEven,
                ToF16,
                ToBF16,
                OfF16,
                SameBits,
                I32ToF32,
                F32ToI32,
                BoolToI32,
                BoolToF32,
                I32ToBool,
                F32ToBool,
            ]
        );
    }

    #[inline(always)]
    fn binary(&mut self, op: NarrowBinary, to: Slot, x: Slot, y: Slot, active: u32) {
        specialise!(
            op,
            NarrowBinary,
            |op: NarrowBinary| self.map2(to, x, y, active, |x, y| op.apply(x, y)),
            [
                AddI32,
                SubtractI32,
                MultiplyI32,
                DivideI32,
                RemainderI32,
                PowerI32,
                MinimumI32,
                MaximumI32,
                LessI32,
                LessEqualI32,
                EqualBits,
                BitAnd,
                BitOr,
                BitXor,
                ShiftLeftI32,
                ShiftRightI32,
                AddF32,
                SubtractF32,
                MultiplyF32,
                DivideF32,
                MinimumF32,
                MaximumF32,
                RemainderF32,
                PowerF32,
                LessF32,
                LessEqualF32,
                EqualF32,
            ]
        );
    }

    fn unary_wide(&mut self, op: WideUnary, to: WideSlot, x: WideSlot, active: u32) {
        let result = self.wide_lanes(x).map(|x| op.apply(x));
        self.write_wide(to, active, &result);
    }

    fn binary_wide(&mut self, op: WideBinary, to: WideSlot, x: WideSlot, y: WideSlot, active: u32) {
        specialise!(
            op,
            WideBinary,
            |op: WideBinary| {
                let (x, y) = (self.wide_lanes(x), self.wide_lanes(y));
                let result = each_lane(|lane| op.apply(x[lane], y[lane]));
                self.write_wide(to, active, &result);
            },
            [
                Add, Subtract, Multiply, Divide, Remainder, Power, Minimum, Maximum, BitAnd, BitOr, BitXor, ShiftLeft,
                ShiftRight
            ]
        );
    }

    fn compare_wide(&mut self, op: WideCompare, to: Slot, x: WideSlot, y: WideSlot, active: u32) {
        let (x, y) = (self.wide_lanes(x), self.wide_lanes(y));
        let result = each_lane(|lane| op.apply(x[lane], y[lane]));
        self.write(to, active, &result);
    }
}

/// A register from its lanes; unlike the library's array constructor, always a plain loop.
#[inline(always)]
fn each_lane<T: Copy + Default>(mut f: impl FnMut(usize) -> T) -> [T; 32] {
    let mut result = [T::default(); 32];
    for (lane, value) in result.iter_mut().enumerate() {
        *value = f(lane);
    }
    result
}

/// `x · y + z` with one rounding.
///
/// The product is exact in `f64`. Rounding the sum to `f64` first changes the result only where that lands on the
/// middle between two `f32`, or in the subnormal range, whose middles lie elsewhere. Then the lanes are done again.
#[inline(always)]
fn fused(x: &Lanes, y: &Lanes, z: &Lanes) -> Lanes {
    let mut result = [0; 32];
    let mut doubtful = false;
    for lane in 0..32 {
        let (a, b, c) = (f32::from_bits(x[lane]), f32::from_bits(y[lane]), f32::from_bits(z[lane]));
        let sum = f64::from(a) * f64::from(b) + f64::from(c);
        let rounded = (sum as f32).to_bits();
        let middle = sum.to_bits() as u32 & 0x1fff_ffff == 0x1000_0000;
        let subnormal = (rounded & 0x7f00_0000 == 0) & (sum != 0.0);
        doubtful |= middle | subnormal;
        result[lane] = rounded;
    }
    if doubtful { fused_slowly(x, y, z) } else { result }
}

#[cold]
#[inline(never)]
fn fused_slowly(x: &Lanes, y: &Lanes, z: &Lanes) -> Lanes {
    each_lane(|lane| fused_multiply_add(x[lane], y[lane], z[lane]))
}

/// Calls `access` with the active lanes whose index is in bounds, and that index; gives the other active lanes.
pub fn elements(index: &Lanes, length: u32, active: u32, mut access: impl FnMut(usize, usize)) -> u32 {
    let mut bad = 0;
    for lane in lanes(active) {
        if index[lane] < length {
            access(lane, index[lane] as usize);
        } else {
            bad |= 1 << lane;
        }
    }
    bad
}

/// The lane that a lane of a shuffle reads.
pub fn source_lane(mode: ShuffleMode, lane: usize) -> usize {
    match mode {
        ShuffleMode::Xor(mask) => (lane ^ mask as usize) & 31,
        ShuffleMode::Broadcast(source) => source as usize & 31,
    }
}

pub fn lanes(active: u32) -> impl Iterator<Item = usize> {
    let mut rest = active;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::{Lanes, each_lane, fused};
    use crate::emulate::random::Random;

    fn agree(x: Lanes, y: Lanes, z: Lanes) {
        for (lane, &result) in fused(&x, &y, &z).iter().enumerate() {
            let [a, b, c] = [x, y, z].map(|lanes| f32::from_bits(lanes[lane]));
            let (expected, result) = (a.mul_add(b, c), f32::from_bits(result));
            let same = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
            assert!(same, "{a:e} · {b:e} + {c:e} gives {result:e}, not {expected:e}");
        }
    }

    #[test]
    fn fused_multiply_add_rounds_once() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let mut bits = || each_lane(|_| random.bits() as u32);
            agree(bits(), bits(), bits());
        }
        // Few significant bits and nearby exponents make ties and subnormal results common.
        for _ in 0..20_000 {
            let mut sparse = |exponent: u32| {
                each_lane(|_| {
                    let bits = random.bits() as u32;
                    let exponent = exponent + random.below(26) as u32;
                    (bits & 0x8000_0000) | (exponent << 23) | (bits & random.bits() as u32 & 0x0070_0007)
                })
            };
            agree(sparse(115), sparse(115), sparse(100));
            agree(sparse(50), sparse(50), sparse(0));
        }
    }
}
