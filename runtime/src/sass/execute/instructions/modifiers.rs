//! Which modifiers of each operation are executed: any other would be passed over in silence.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operation::Modifier as M;
use super::super::super::operation::{Modifier, Operation};

/// An error for an instruction with a modifier that its execution does not heed.
pub fn check(code: &Code) -> Result<(), CodeError> {
    let heeded = heeded(code.operation);
    match code.modifiers.iter().find(|modifier| !heeded.iter().any(|some| some.contains(modifier))) {
        None => Ok(()),
        Some(_) => Err(CodeError::Form(code.text.clone())),
    }
}

const RELATIONS: &[Modifier] = &[M::Eq, M::Ne, M::Lt, M::Le, M::Gt, M::Ge, M::Never, M::Always];
const UNORDERED: &[Modifier] = &[M::Equ, M::Neu, M::Ltu, M::Leu, M::Gtu, M::Geu, M::Num, M::Nan];
const COMBINATIONS: &[Modifier] = &[M::And, M::Or, M::Xor];
const ROUNDING: &[Modifier] = &[M::Rn, M::Rm, M::Rp, M::Rz];
const WHOLE: &[Modifier] = &[M::Trunc, M::Floor, M::Ceil, M::Ntz];
const FLOATS: &[Modifier] = &[M::F16, M::Bf16, M::F32, M::F64];
const INTEGERS: &[Modifier] = &[M::U8, M::S8, M::U16, M::S16, M::U32, M::S32, M::U64, M::S64];
const WIDTHS: &[Modifier] = &[M::U8, M::S8, M::U16, M::S16, M::Bits32, M::Bits64, M::Bits128];
/// How an access is cached where that changes no value, and which level orders it.
const CACHING: &[Modifier] = &[
    M::E,
    M::Constant,
    M::Strong,
    M::Weak,
    M::Gpu,
    M::Sys,
    M::Sm,
    M::Cta,
    M::NoAllocate,
    M::EvictFirst,
    M::EvictLast,
    M::EvictNormal,
    M::Lu,
    M::Bypass,
    M::Access,
    M::Ltc64,
    M::Ltc128,
    M::Ltc256,
];

/// The modifiers that an operation's execution heeds, in lists.
fn heeded(operation: Operation) -> &'static [&'static [Modifier]] {
    use Operation as O;
    match operation {
        O::Iadd3 | O::Uiadd3 => &[&[M::X]],
        O::Imad | O::Uimad => &[&[M::X, M::Wide, M::Hi, M::U32, M::S32, M::Mov, M::Iadd, M::Shl]],
        O::IntegerDot => &[&[M::Dot4, M::S8, M::U8]],
        O::Lea | O::Ulea => &[&[M::Hi, M::X, M::Sx32]],
        O::Shf | O::Ushf => &[&[M::Left, M::Right, M::W, M::Hi, M::U32, M::S32, M::U64, M::S64]],
        O::Lop3 | O::Ulop3 | O::Plop3 | O::Uplop3 => &[&[M::Lut]],
        O::Flo | O::Uflo => &[&[M::U32, M::Shift]],
        O::Sgxt | O::Usgxt => &[&[M::U32]],
        O::Bmsk | O::Ubmsk => &[&[M::W]],
        O::Imnmx | O::Vimnmx | O::Viaddmnmx | O::Vimnmx3 => &[&[M::U32, M::S32, M::Relu]],
        O::Isetp | O::Uisetp => &[RELATIONS, COMBINATIONS, &[M::U32, M::S32, M::Ex]],
        O::Fadd | O::Fmul | O::Ffma => &[ROUNDING, &[M::Ftz, M::Sat]],
        O::Fmnmx => &[&[M::Ftz, M::Nan]],
        O::Fsetp => &[RELATIONS, UNORDERED, COMBINATIONS, &[M::Ftz]],
        O::Fset => &[RELATIONS, UNORDERED, COMBINATIONS, &[M::Ftz, M::Boolean]],
        O::Fchk => &[&[M::Divide]],
        O::Dadd | O::Dmul | O::Dfma => &[ROUNDING],
        O::Dsetp => &[RELATIONS, UNORDERED, COMBINATIONS],
        O::Hfma2 => &[&[M::Mma, M::Bf16V2, M::Ftz, M::Sat, M::Relu]],
        O::Hadd2 => &[&[M::F32, M::Bf16V2, M::Ftz, M::Sat]],
        O::Hmul2 => &[&[M::Bf16V2, M::Ftz, M::Sat]],
        O::Hset2 => &[RELATIONS, UNORDERED, COMBINATIONS, &[M::Bf16V2, M::Ftz, M::Boolean]],
        O::Hsetp2 => &[RELATIONS, UNORDERED, COMBINATIONS, &[M::Bf16V2, M::Ftz]],
        O::Hmnmx2 => &[&[M::Bf16V2, M::Ftz, M::Nan, M::XorSign]],
        O::Hmma => {
            const SHAPES: &[Modifier] = &[M::Shape16816, M::Shape1688, M::Shape1684];
            &[SHAPES, &[M::F16, M::F32, M::Bf16, M::Tf32]]
        }
        O::F2fp => {
            const FORMS: &[Modifier] = &[M::PackAb, M::PackB, M::Merge, M::Relu, M::Rn, M::Rz];
            &[FORMS, &[M::F16, M::Bf16, M::F32, M::Tf32]]
        }
        O::I2f | O::I2fp => &[INTEGERS, FLOATS, ROUNDING],
        O::F2i => &[INTEGERS, FLOATS, WHOLE, &[M::Ftz]],
        O::F2f => &[FLOATS, WHOLE, ROUNDING, &[M::Ftz]],
        O::Frnd => &[FLOATS, WHOLE, &[M::Ftz]],
        O::Mufu => &[&[M::Rcp, M::Rsq, M::Sqrt, M::Ex2, M::Lg2, M::Sin, M::Cos, M::Tanh, M::Rcp64h, M::Rsq64h]],
        O::Cs2r => &[&[M::Bits32]],
        O::Ldc | O::Uldc => &[WIDTHS],
        O::Shfl => &[&[M::Idx, M::Bfly, M::Down, M::Up]],
        O::Vote | O::Voteu => &[&[M::All, M::Any, M::Eq]],
        O::B2r => &[&[M::Result]],
        O::Redux => &[&[M::Or, M::Xor, M::And, M::Sum, M::Min, M::Max, M::S32]],
        O::Match => &[&[M::Any, M::U64]],
        O::Ldgsts => &[WIDTHS, CACHING, &[M::Zfill]],
        O::Ldg | O::Stg | O::Ldl | O::Stl | O::Lds | O::Sts => &[WIDTHS, CACHING],
        O::Ldsm => &[&[M::Sixteen, M::M88, M::Mt88, M::Two, M::Four]],
        O::Atomg | O::Redg | O::Red | O::Atoms => {
            const FUNCTIONS: &[Modifier] =
                &[M::Add, M::Min, M::Max, M::And, M::Or, M::Xor, M::Exch, M::Cas, M::F32, M::Ftz, M::Rn];
            &[FUNCTIONS, &[M::Bits64, M::U64, M::S64, M::U32, M::S32], CACHING]
        }
        O::Ldgdepbar => &[],
        O::Depbar => &[&[M::Le]],
        O::Membar | O::Fence => &[&[M::All, M::Sc, M::Gpu, M::Sys, M::Cta]],
        O::Cctl => &[&[M::Invalidate]],
        O::Ublkpf => &[&[M::L2]],
        O::Bra => &[&[M::Diverged, M::Uniform, M::Conv]],
        O::Call | O::Ret => &[&[M::Absolute, M::Relative, M::Noinc, M::Nodec]],
        O::Bar => &[&[M::Sync, M::DeferBlocking, M::Reduce, M::Or, M::And]],
        O::Bmov => &[&[M::Bits32, M::Clear]],
        O::Warpsync => &[&[M::All, M::Collective]],
        O::Bpt => &[&[M::Trap]],
        _ => &[],
    }
}
