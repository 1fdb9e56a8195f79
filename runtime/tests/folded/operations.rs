//! The operations that are tried: a text in CUDA each, the types of its operands, and the instructions that it is made of.

/// A type of an operand or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A word, signed or not.
    Word,
    /// Two words, signed or not.
    Long,
    /// A distance of a shift, which C++ allows for a word.
    Distance,
    /// A distance of a shift, which C++ allows for two words.
    LongDistance,
    /// A word that is not 0.
    Divisor,
    /// Two words that are not 0.
    LongDivisor,
    Single,
    Double,
    Half,
    Bfloat,
}

impl Type {
    /// Its name in CUDA.
    pub fn name(self) -> &'static str {
        match self {
            Self::Word | Self::Distance | Self::Divisor => "unsigned",
            Self::Long | Self::LongDistance | Self::LongDivisor => "unsigned long long",
            Self::Single => "float",
            Self::Double => "double",
            Self::Half | Self::Bfloat => "unsigned short",
        }
    }

    /// The letter of a register of this type in the assembler's constraints.
    fn constraint(self) -> char {
        match self {
            Self::Word | Self::Distance | Self::Divisor => 'r',
            Self::Long | Self::LongDistance | Self::LongDivisor => 'l',
            Self::Single => 'f',
            Self::Double => 'd',
            Self::Half | Self::Bfloat => 'h',
        }
    }
}

/// An operation on operands of some types, as CUDA or PTX writes it.
pub struct Operation {
    /// What it is called.
    pub name: String,
    /// The body of a function of `a`, `b` and `c` that returns the result.
    pub body: String,
    pub operands: Vec<Type>,
    pub result: Type,
    /// Instructions of which one at least computes it, modifiers apart.
    pub opcodes: &'static [&'static str],
}

/// An expression of CUDA.
fn expression(text: &str, operands: &[Type], result: Type, opcodes: &'static [&'static str]) -> Operation {
    let body = format!("return {text};");
    Operation { name: text.to_owned(), body, operands: operands.to_vec(), result, opcodes }
}

/// An instruction of PTX.
fn instruction(mnemonic: &str, operands: &[Type], result: Type, opcodes: &'static [&'static str]) -> Operation {
    let names = ["a", "b", "c"];
    let places: Vec<String> = (0..=operands.len()).map(|place| format!("%{place}")).collect();
    let inputs = names.iter().zip(operands).map(|(name, ty)| format!("\"{}\"({name})", ty.constraint()));
    let body = format!(
        "{} r; asm(\"{mnemonic} {};\" : \"={}\"(r) : {}); return r;",
        result.name(),
        places.join(", "),
        result.constraint(),
        inputs.collect::<Vec<String>>().join(", ")
    );
    Operation { name: mnemonic.to_owned(), body, operands: operands.to_vec(), result, opcodes }
}

use Type::{Bfloat, Distance, Divisor, Double, Half, Long, LongDistance, LongDivisor, Single, Word};

pub fn operations() -> Vec<Operation> {
    [integers(), longs(), singles(), doubles(), comparisons(), to_integers(), to_floats(), halves()]
        .into_iter()
        .flatten()
        .collect()
}

fn integers() -> Vec<Operation> {
    let two = |text, opcodes| expression(text, &[Word; 2], Word, opcodes);
    let three = |text, opcodes| expression(text, &[Word; 3], Word, opcodes);
    let one = |text, opcodes| expression(text, &[Word], Word, opcodes);
    let shift = |text| expression(text, &[Word, Distance], Word, &["SHF", "IMAD"]);
    let divide = |text| expression(text, &[Word, Divisor], Word, &["IMAD"]);
    let ptx = |mnemonic, opcodes| instruction(mnemonic, &[Word; 3], Word, opcodes);
    const MINMAX: &[&str] = &["IMNMX", "VIMNMX", "SEL"];
    vec![
        two("a + b", &["IADD3", "IMAD", "VIADD"]),
        two("a - b", &["IADD3", "IMAD", "VIADD"]),
        three("a + b - c", &["IADD3"]),
        two("a * b", &["IMAD"]),
        three("a * b + c", &["IMAD"]),
        two("__mulhi((int)a, (int)b)", &["IMAD"]),
        two("__umulhi(a, b)", &["IMAD"]),
        ptx("mad.hi.s32", &["IMAD"]),
        ptx("mad.hi.u32", &["IMAD"]),
        shift("a << b"),
        shift("a >> b"),
        shift("(int)a >> b"),
        instruction("shl.b32", &[Word; 2], Word, &["SHF", "IMAD"]),
        instruction("shr.s32", &[Word; 2], Word, &["SHF"]),
        instruction("shr.u32", &[Word; 2], Word, &["SHF"]),
        three("__funnelshift_l(a, b, c)", &["SHF"]),
        three("__funnelshift_lc(a, b, c)", &["SHF"]),
        three("__funnelshift_r(a, b, c)", &["SHF"]),
        three("__funnelshift_rc(a, b, c)", &["SHF"]),
        two("min((int)a, (int)b)", MINMAX),
        two("max((int)a, (int)b)", MINMAX),
        two("min(a, b)", MINMAX),
        two("max(a, b)", MINMAX),
        three("min(min((int)a, (int)b), (int)c)", &["IMNMX", "VIMNMX", "VIMNMX3", "SEL"]),
        three("(a & b) ^ (~c | a)", &["LOP3"]),
        three("(a & ~b) | (b & c)", &["LOP3"]),
        one("abs((int)a)", &["IABS", "IADD3"]),
        one("__popc(a)", &["POPC"]),
        one("__clz(a)", &["FLO"]),
        one("__ffs(a)", &["FLO"]),
        one("__brev(a)", &["BREV"]),
        instruction("bfind.s32", &[Word], Word, &["FLO"]),
        instruction("bfind.shiftamt.u32", &[Word], Word, &["FLO"]),
        three("__byte_perm(a, b, c)", &["PRMT"]),
        ptx("prmt.b32", &["PRMT"]),
        ptx("bfe.u32", &["SHF", "SGXT"]),
        ptx("bfe.s32", &["SHF", "SGXT"]),
        ptx("slct.s32.s32", &["SEL", "ISETP"]),
        three("__dp4a((int)a, (int)b, (int)c)", &["IDP"]),
        three("__dp4a(a, b, c)", &["IDP"]),
        one("(int)(signed char)a", &["PRMT", "SGXT", "LDG"]),
        one("(int)(short)a", &["PRMT", "SGXT", "LDG"]),
        divide("a / b"),
        divide("a % b"),
        divide("(int)a / (int)b"),
        divide("(int)a % (int)b"),
    ]
}

fn longs() -> Vec<Operation> {
    let two = |text, opcodes| expression(text, &[Long; 2], Long, opcodes);
    let shift = |text| expression(text, &[Long, LongDistance], Long, &["SHF", "IMAD"]);
    let divide = |text| expression(text, &[Long, LongDivisor], Long, &["IMAD"]);
    let one = |text, opcodes| expression(text, &[Long], Word, opcodes);
    vec![
        two("a + b", &["IADD3"]),
        two("a - b", &["IADD3"]),
        two("a * b", &["IMAD"]),
        expression("a * b + c", &[Long; 3], Long, &["IMAD"]),
        expression("(long long)(int)a * (int)b", &[Word; 2], Long, &["IMAD"]),
        expression("(unsigned long long)a * b", &[Word; 2], Long, &["IMAD"]),
        two("__umul64hi(a, b)", &["IMAD"]),
        two("__mul64hi((long long)a, (long long)b)", &["IMAD"]),
        shift("a << b"),
        shift("a >> b"),
        shift("(long long)a >> b"),
        two("a < b ? a : b", &["ISETP"]),
        two("(long long)a < (long long)b ? b : a", &["ISETP"]),
        two("(a & b) ^ ~a", &["LOP3"]),
        one("__popcll(a)", &["POPC"]),
        one("__clzll(a)", &["FLO"]),
        one("__ffsll(a)", &["FLO"]),
        expression("__brevll(a)", &[Long], Long, &["BREV"]),
        divide("a / b"),
        divide("a % b"),
        divide("(long long)a / (long long)b"),
        divide("(long long)a % (long long)b"),
    ]
}

fn singles() -> Vec<Operation> {
    let ptx = |mnemonic: &str, count: usize, opcodes| instruction(mnemonic, &[Single; 3][..count], Single, opcodes);
    let text = |text, count: usize, opcodes| expression(text, &[Single; 3][..count], Single, opcodes);
    let mut all = vec![
        text("a + b", 2, &["FADD"]),
        text("a - b", 2, &["FADD"]),
        text("a * b", 2, &["FMUL"]),
        text("__fmaf_rn(a, b, c)", 3, &["FFMA"]),
        text("__fadd_rz(a, b)", 2, &["FADD"]),
        text("__fadd_rd(a, b)", 2, &["FADD"]),
        text("__fadd_ru(a, b)", 2, &["FADD"]),
        text("__fmul_rz(a, b)", 2, &["FMUL"]),
        text("__fmul_rd(a, b)", 2, &["FMUL"]),
        text("__fmul_ru(a, b)", 2, &["FMUL"]),
        text("__fmaf_rz(a, b, c)", 3, &["FFMA"]),
        text("__fmaf_rd(a, b, c)", 3, &["FFMA"]),
        text("__fmaf_ru(a, b, c)", 3, &["FFMA"]),
        text("fminf(a, b)", 2, &["FMNMX"]),
        text("fmaxf(a, b)", 2, &["FMNMX"]),
        text("__saturatef(a)", 1, &["FADD"]),
        text("fabsf(a) + -b", 2, &["FADD"]),
        text("a / b", 2, &["MUFU"]),
        text("sqrtf(a)", 1, &["MUFU"]),
        text("floorf(a)", 1, &["FRND"]),
        text("ceilf(a)", 1, &["FRND"]),
        text("truncf(a)", 1, &["FRND"]),
        text("rintf(a)", 1, &["FRND"]),
    ];
    for rounding in ["rn", "rz", "rm", "rp"] {
        for (form, count, opcodes) in [("add", 2, &["FADD"] as &[&str]), ("mul", 2, &["FMUL"]), ("fma", 3, &["FFMA"])] {
            for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
                all.push(ptx(&format!("{form}.{rounding}{modifiers}.f32"), count, opcodes));
            }
        }
    }
    for form in ["min", "max"] {
        for modifiers in ["", ".ftz", ".NaN", ".ftz.NaN"] {
            all.push(ptx(&format!("{form}{modifiers}.f32"), 2, &["FMNMX"]));
        }
    }
    all
}

fn doubles() -> Vec<Operation> {
    let text = |text, count: usize, opcodes| expression(text, &[Double; 3][..count], Double, opcodes);
    vec![
        text("a + b", 2, &["DADD"]),
        text("a - b", 2, &["DADD"]),
        text("a * b", 2, &["DMUL"]),
        text("__fma_rn(a, b, c)", 3, &["DFMA"]),
        text("a / b", 2, &["DFMA"]),
        text("sqrt(a)", 1, &["DFMA"]),
        text("__drcp_rn(a)", 1, &["DFMA"]),
        text("floor(a)", 1, &["FRND"]),
        text("ceil(a)", 1, &["FRND"]),
        text("trunc(a)", 1, &["FRND"]),
        text("rint(a)", 1, &["FRND"]),
        text("__dadd_rz(a, b)", 2, &["DADD"]),
        text("__dadd_rd(a, b)", 2, &["DADD"]),
        text("__dadd_ru(a, b)", 2, &["DADD"]),
        text("__dmul_rz(a, b)", 2, &["DMUL"]),
        text("__dmul_rd(a, b)", 2, &["DMUL"]),
        text("__dmul_ru(a, b)", 2, &["DMUL"]),
        text("__fma_rz(a, b, c)", 3, &["DFMA"]),
        text("__fma_rd(a, b, c)", 3, &["DFMA"]),
        text("__fma_ru(a, b, c)", 3, &["DFMA"]),
    ]
}

/// All relations of two numbers, a bit each.
const RELATIONS: &str = "(unsigned)(a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5 \
                         | !(a < b) << 6 | !(a <= b) << 7 | !(a > b) << 8 | !(a >= b) << 9";

fn comparisons() -> Vec<Operation> {
    let relations = |ty, opcodes| expression(RELATIONS, &[ty; 2], Word, opcodes);
    let mut all = vec![
        relations(Word, &["ISETP"]),
        relations(Long, &["ISETP"]),
        relations(Single, &["FSETP", "FSET"]),
        relations(Double, &["DSETP"]),
        expression("(int)a < (int)b | ((int)a <= (int)b) << 1", &[Word; 2], Word, &["ISETP"]),
        expression("(long long)a < (long long)b | ((long long)a >= (long long)b) << 1", &[Long; 2], Word, &["ISETP"]),
    ];
    for relation in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
        all.push(instruction(&format!("set.{relation}.u32.f32"), &[Single; 2], Word, &["FSET", "FSETP"]));
        all.push(instruction(&format!("set.{relation}.ftz.f32.f32"), &[Single; 2], Single, &["FSET", "FSETP"]));
    }
    all
}

fn to_integers() -> Vec<Operation> {
    let mut all = Vec::new();
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        for (to, result) in [("s32", Word), ("u32", Word), ("s64", Long), ("u64", Long)] {
            all.push(instruction(&format!("cvt.{rounding}.{to}.f32"), &[Single], result, &["F2I"]));
            all.push(instruction(&format!("cvt.{rounding}.{to}.f64"), &[Double], result, &["F2I"]));
            all.push(instruction(&format!("cvt.{rounding}.{to}.f16"), &[Half], result, &["F2I"]));
            all.push(instruction(&format!("cvt.{rounding}.ftz.{to}.f32"), &[Single], result, &["F2I"]));
        }
        for to in ["s8", "u8", "s16", "u16"] {
            // Unsigned bytes are made of an instruction that is not executed.
            if to == "u8" {
                continue;
            }
            all.push(instruction(&format!("cvt.{rounding}.{to}.f32"), &[Single], Word, &["F2I"]));
            all.push(instruction(&format!("cvt.{rounding}.{to}.f64"), &[Double], Word, &["F2I"]));
        }
    }
    for direction in ["rn", "rz", "rd", "ru"] {
        for (to, result) in [("int", Word), ("uint", Word), ("ll", Long), ("ull", Long)] {
            all.push(expression(&format!("__float2{to}_{direction}(a)"), &[Single], result, &["F2I"]));
            all.push(expression(&format!("__double2{to}_{direction}(a)"), &[Double], result, &["F2I"]));
        }
    }
    all
}

fn to_floats() -> Vec<Operation> {
    let mut all = vec![
        expression("__int2double_rn((int)a)", &[Word], Double, &["I2F"]),
        expression("__uint2double_rn(a)", &[Word], Double, &["I2F"]),
        expression("(float)(signed char)a", &[Word], Single, &["I2F", "I2FP"]),
        expression("(float)(unsigned char)a", &[Word], Single, &["I2F", "I2FP"]),
        expression("(float)(short)a", &[Word], Single, &["I2F", "I2FP"]),
        expression("(float)(unsigned short)a", &[Word], Single, &["I2F", "I2FP"]),
        expression("(double)(short)a", &[Word], Double, &["I2F"]),
        expression("(double)a", &[Single], Double, &["F2F"]),
        instruction("cvt.ftz.f64.f32", &[Single], Double, &["F2F"]),
    ];
    for direction in ["rn", "rz", "rd", "ru"] {
        for (from, ty, cast) in
            [("int", Word, "(int)"), ("uint", Word, ""), ("ll", Long, "(long long)"), ("ull", Long, "")]
        {
            let text = format!("__{from}2float_{direction}({cast}a)");
            all.push(expression(&text, &[ty], Single, &["I2F", "I2FP"]));
            if ty == Long {
                all.push(expression(&format!("__{from}2double_{direction}({cast}a)"), &[ty], Double, &["I2F"]));
            }
        }
        all.push(expression(&format!("__double2float_{direction}(a)"), &[Double], Single, &["F2F"]));
    }
    for direction in ["rn", "rz", "rm", "rp"] {
        all.push(instruction(&format!("cvt.{direction}.ftz.f32.f64"), &[Double], Single, &["F2F"]));
        all.push(instruction(&format!("cvt.{direction}.sat.f32.f64"), &[Double], Single, &["F2F"]));
    }
    all
}

fn halves() -> Vec<Operation> {
    let mut all = vec![
        instruction("cvt.f32.f16", &[Half], Single, &["HADD2", "F2F"]),
        instruction("cvt.f64.f16", &[Half], Double, &["HADD2", "F2F"]),
        instruction("cvt.f32.bf16", &[Bfloat], Single, &["PRMT", "IMAD", "SHF"]),
        instruction("cvt.rn.bf16.f32", &[Single], Bfloat, &["F2FP", "F2F"]),
        instruction("cvt.rz.bf16.f32", &[Single], Bfloat, &["F2FP", "F2F"]),
        instruction("cvt.rn.f16x2.f32", &[Single; 2], Word, &["F2FP", "F2F"]),
        instruction("cvt.rn.bf16x2.f32", &[Single; 2], Word, &["F2FP", "F2F"]),
        instruction("cvt.rn.relu.bf16x2.f32", &[Single; 2], Word, &["F2FP", "F2F"]),
        instruction("cvt.rn.relu.f16x2.f32", &[Single; 2], Word, &["F2FP", "F2F"]),
    ];
    for direction in ["rn", "rz", "rm", "rp"] {
        all.push(instruction(&format!("cvt.{direction}.f16.f32"), &[Single], Half, &["F2F", "F2FP"]));
        all.push(instruction(&format!("cvt.{direction}.f16.f64"), &[Double], Half, &["F2F", "F2FP"]));
        all.push(instruction(&format!("cvt.{direction}.f16.s32"), &[Word], Half, &["I2F", "F2F"]));
        all.push(instruction(&format!("cvt.{direction}.f16.u64"), &[Long], Half, &["I2F", "F2F"]));
    }
    all
}
