//! Operations and their modifiers, and on which pipe each is executed.

use super::error::CodeError;

/// Where an operation is executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pipe {
    /// Single-precision multiplication and addition, on both halves of the pipe.
    Fma,
    /// Integer multiplication, on one half of that pipe.
    FmaHeavy,
    /// Integer, logical, comparison and conversion operations of full rate.
    Alu,
    /// Double precision.
    Double,
    /// Transcendental functions and conversions of a quarter of the rate.
    Special,
    /// What is computed once for a warp.
    Uniform,
    /// Loads from constant memory and special registers, and moves to uniform registers.
    Constant,
    /// Memory, shuffles and what goes the same way.
    Memory,
    /// Jumps, convergence and barriers.
    Control,
    /// Matrix products.
    Tensor,
}

/// Pipes.
pub const PIPES: usize = 10;

macro_rules! operations {
    ($($variant:ident $name:literal $pipe:ident),* $(,)?) => {
        /// An operation, modifiers apart.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Operation {
            $(#[doc = concat!("`", $name, "`.")] $variant),*
        }

        impl Operation {
            /// The operation of this name.
            pub fn parse(name: &str) -> Result<Self, CodeError> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(CodeError::Operation(name.to_owned())),
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }

            /// Where it is executed.
            pub fn pipe(self) -> Pipe {
                match self {
                    $(Self::$variant => Pipe::$pipe),*
                }
            }
        }
    };
}

operations! {
    Ffma "FFMA" Fma, Fadd "FADD" Fma, Fmul "FMUL" Fma, Hfma2 "HFMA2" Fma, Hadd2 "HADD2" Fma, Hmul2 "HMUL2" Fma,
    Imad "IMAD" FmaHeavy, IntegerDot "IDP" FmaHeavy,
    Iadd3 "IADD3" Alu, Viadd "VIADD" Alu, Lea "LEA" Alu, Lop3 "LOP3" Alu, Shf "SHF" Alu, Isetp "ISETP" Alu,
    Iabs "IABS" Alu, Imnmx "IMNMX" Alu, Vimnmx "VIMNMX" Alu, Viaddmnmx "VIADDMNMX" Alu, Vimnmx3 "VIMNMX3" Alu, Mov "MOV" Alu, Prmt "PRMT" Alu, Sel "SEL" Alu,
    Plop3 "PLOP3" Alu, Fsel "FSEL" Alu, Fsetp "FSETP" Alu, Fset "FSET" Alu, Fmnmx "FMNMX" Alu, Fchk "FCHK" Special,
    Fswzadd "FSWZADD" Alu, I2fp "I2FP" Alu, P2r "P2R" Alu, R2p "R2P" Alu, Vote "VOTE" Alu, Cs2r "CS2R" Alu,
    Sgxt "SGXT" Alu, Bmsk "BMSK" Alu, F2fp "F2FP" Alu, Lepc "LEPC" Alu, Hset2 "HSET2" Alu, Hsetp2 "HSETP2" Alu,
    Hmnmx2 "HMNMX2" Alu,
    Dadd "DADD" Double, Dmul "DMUL" Double, Dfma "DFMA" Double, Dsetp "DSETP" Double,
    Mufu "MUFU" Special, I2f "I2F" Special, F2i "F2I" Special, F2f "F2F" Special, Frnd "FRND" Special,
    Flo "FLO" Special, Popc "POPC" Special, Brev "BREV" Special,
    Uiadd3 "UIADD3" Uniform, Ulea "ULEA" Uniform, Ulop3 "ULOP3" Uniform, Ushf "USHF" Uniform, Uisetp "UISETP" Uniform,
    Uimad "UIMAD" Uniform, Umov "UMOV" Uniform, Usel "USEL" Uniform, Uplop3 "UPLOP3" Uniform, Uprmt "UPRMT" Uniform,
    Uflo "UFLO" Uniform, Upopc "UPOPC" Uniform, Voteu "VOTEU" Uniform, Uldc "ULDC" Uniform, Usgxt "USGXT" Uniform,
    Ubmsk "UBMSK" Uniform, Up2ur "UP2UR" Uniform, Ur2up "UR2UP" Uniform, Uf2fp "UF2FP" Uniform, Ubrev "UBREV" Uniform,
    Ldc "LDC" Constant, S2r "S2R" Constant, S2ur "S2UR" Constant, R2ur "R2UR" Alu, B2r "B2R" Constant,
    Redux "REDUX" Constant, Match "MATCH" Constant,
    Ldg "LDG" Memory, Stg "STG" Memory, Lds "LDS" Memory, Sts "STS" Memory, Ldl "LDL" Memory, Stl "STL" Memory,
    Ldgsts "LDGSTS" Memory, Ldgdepbar "LDGDEPBAR" Memory, Shfl "SHFL" Memory, Atomg "ATOMG" Memory, Redg "REDG" Memory,
    Red "RED" Memory, Atoms "ATOMS" Memory, Membar "MEMBAR" Memory, Errbar "ERRBAR" Memory, Cctl "CCTL" Memory,
    Fence "FENCE" Memory, Cgaerrbar "CGAERRBAR" Memory, Ldsm "LDSM" Memory,
    Ublkpf "UBLKPF" Memory,
    Bra "BRA" Control, Brx "BRX" Control, Jmp "JMP" Control, Call "CALL" Control, Ret "RET" Control, Exit "EXIT" Control,
    Bssy "BSSY" Control, Bsync "BSYNC" Control, Break "BREAK" Control, Bmov "BMOV" Control, Warpsync "WARPSYNC" Control,
    Nop "NOP" Control, Yield "YIELD" Control, Depbar "DEPBAR" Control, Bar "BAR" Control, Nanosleep "NANOSLEEP" Control,
    Acqbulk "ACQBULK" Control, Preexit "PREEXIT" Control, Bpt "BPT" Control, Endcollective "ENDCOLLECTIVE" Control, Elect "ELECT" Control,
    Hmma "HMMA" Tensor, Imma "IMMA" Tensor,
}

macro_rules! modifiers {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// What narrows an operation down.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Modifier {
            $(#[doc = concat!("`.", $name, "`.")] $variant),*
        }

        impl Modifier {
            fn parse(operation: &str, name: &str) -> Result<Self, CodeError> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(CodeError::Modifier { operation: operation.to_owned(), modifier: name.to_owned() }),
                }
            }
        }
    };
}

modifiers! {
    X "X", Hi "HI", Lo "LO", Wide "WIDE", U32 "U32", S32 "S32", U64 "U64", S64 "S64", U16 "U16", S16 "S16", U8 "U8", S8 "S8",
    Left "L", Right "R", W "W", Sx32 "SX32", Lut "LUT", Mov "MOV", Shl "SHL", Iadd "IADD", And "AND", Or "OR", Xor "XOR",
    Ex "EX", Eq "EQ", Ne "NE", Lt "LT", Le "LE", Gt "GT", Ge "GE", Equ "EQU", Neu "NEU", Ltu "LTU", Leu "LEU",
    Gtu "GTU", Geu "GEU", Num "NUM", Nan "NAN", Never "F", Always "T",
    Ftz "FTZ", Sat "SAT", Rn "RN", Rm "RM", Rp "RP", Rz "RZ", Trunc "TRUNC", Floor "FLOOR", Ceil "CEIL", Ntz "NTZ",
    F32 "F32", F16 "F16", F64 "F64", Bf16 "BF16", Bf16V2 "BF16_V2", PackAb "PACK_AB", PackB "PACK_B", Tf32 "TF32", Mma "MMA",
    E "E", Bits64 "64", Bits128 "128", Bits32 "32", Constant "CONSTANT", Strong "STRONG", Gpu "GPU", Sys "SYS", Sm "SM", Cta "CTA",
    NoAllocate "NA", EvictFirst "EF", EvictLast "EL", EvictNormal "EN", Lu "LU", Weak "WEAK", Bypass "BYPASS",
    Access "ACCESS", Ltc64 "LTC64B", Ltc128 "LTC128B", Ltc256 "LTC256B", Zfill "ZFILL",
    Sync "SYNC", DeferBlocking "DEFER_BLOCKING", Arrive "ARV", Reduce "RED", Popc "POPC", Result "RESULT", All "ALL",
    Any "ANY", Absolute "ABS", Relative "REL", Noinc "NOINC", Nodec "NODEC", Clear "CLEAR", Bfly "BFLY", Idx "IDX", Up "UP",
    Down "DOWN", Invalidate "IVALL", Add "ADD", Min "MIN", Max "MAX", Exch "EXCH", Cas "CAS", Inc "INC", Dec "DEC", Sc "SC",
    Rcp "RCP", Ex2 "EX2", Lg2 "LG2", Rsq "RSQ", Sqrt "SQRT", Sin "SIN", Cos "COS", Tanh "TANH", Rcp64h "RCP64H",
    Rsq64h "RSQ64H", Uniform "U", Conv "CONV", Relu "RELU", Tid "TID", Shift "SH", Collective "COLLECTIVE", Diverged "DIV", Wait "WAIT", Pdl "PDL",
    Shape16816 "16816", Shape16832 "16832", Shape1688 "1688", Shape1684 "1684", M88 "M88", Four "4", Two "2", Sixteen "16", Mt88 "MT88", Pand "PAND", View "VIEW",
    Async "ASYNC", Dot4 "4A", Sum "SUM", Boolean "BF", Divide "DIVIDE", Trap "TRAP",
    Unpack "UNPACK_B", Merge "MERGE_C",
    Cluster "CLUSTER", L2 "L2", H0 "H0", H1 "H1", H0H0 "H0_H0", H1H1 "H1_H1", Rev "REV", XorSign "XORSIGN",
}

/// The modifiers of one instruction.
pub fn modifiers(operation: &str, names: &[&str]) -> Result<Vec<Modifier>, CodeError> {
    names.iter().map(|name| Modifier::parse(operation, name)).collect()
}
