//! What instructions of machine code give, against tables made of PTX's and CUDA's documentation: each row has an instruction,
//! the words in R1 to R6, and the words that R0 and R7 hold behind it.

use warpweave_runtime::cubin::ParameterLayout;
use warpweave_runtime::sass::execute::fault::FaultKind;
use warpweave_runtime::sass::execute::grid::{ExecuteOptions, GridLaunch, LaunchError, Residency};
use warpweave_runtime::sass::execute::image::Image;
use warpweave_runtime::sass::execute::memory::global::{GlobalMemory, Permission};
use warpweave_runtime::sass::program::MachineCode;

const PARAMETERS: ParameterLayout = ParameterLayout { bank_bytes: 0x220, offset: 0x210, bytes: 16 };
const SHARED_BYTES: u32 = 1024;

/// Runs lines in one warp. They find the address of a buffer of `words` in R10 and R11, and what they leave there is given back.
fn run(lines: &[String], words: &[u32], options: &ExecuteOptions) -> Result<Vec<u32>, LaunchError> {
    run_blocks(lines, words, 1, options)
}

/// The same in so many blocks of a warp.
fn run_blocks(lines: &[String], words: &[u32], blocks: u32, options: &ExecuteOptions) -> Result<Vec<u32>, LaunchError> {
    run_threads(lines, words, (blocks, 32), options)
}

/// The same in so many blocks of so many threads.
fn run_threads(
    lines: &[String],
    words: &[u32],
    (blocks, threads): (u32, u32),
    options: &ExecuteOptions,
) -> Result<Vec<u32>, LaunchError> {
    let first = ["LDC.64 R10, c[0x0][0x210]".to_owned()];
    let last = ["EXIT".to_owned()];
    let mut text = String::from(".text.f:\n");
    for (place, line) in first.iter().chain(lines).chain(&last).enumerate() {
        match line.strip_suffix(':') {
            Some(label) => text += &format!("{label}:\n"),
            None => text += &format!("/*{place:04x}0*/ {line} ; /* 0x0000000000000000 */\n/* 0x0000000000000000 */\n"),
        }
    }
    let machine = MachineCode::parse(&text).expect("the listing is read");
    let image = Image::of_code(machine, PARAMETERS, 90);
    let mut memory = GlobalMemory::default();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let buffer = memory.add("the words", Permission::ReadWrite, &bytes);
    let parameters: Vec<u8> = [memory.address(buffer), 0].into_iter().flat_map(u64::to_le_bytes).collect();
    let launch = GridLaunch {
        entry: "f",
        blocks,
        threads,
        shared_bytes: SHARED_BYTES,
        parameters: &parameters,
        residency: Residency::AllAtOnce,
    };
    image.launch(&memory, &launch, options)?;
    let left = memory.read(buffer);
    Ok(left.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// R0 and R7 behind an instruction that finds these words in R1 and the registers behind it.
fn result(instruction: &str, operands: &[u32]) -> [u32; 2] {
    let mut code: Vec<String> =
        operands.iter().zip(1..).map(|(word, register)| format!("MOV R{register}, {word:#x}")).collect();
    code.push("MOV R0, 0x0".to_owned());
    code.push("MOV R7, 0x0".to_owned());
    code.extend(instruction.split(';').map(|line| line.trim().to_owned()));
    code.push("STG.E desc[UR4][R10.64], R0".to_owned());
    code.push("STG.E desc[UR4][R10.64+0x4], R7".to_owned());
    let found = run(&code, &[0; 2], &ExecuteOptions::default());
    let found = found.unwrap_or_else(|error| panic!("{instruction}: {error}"));
    [found[0], found[1]]
}

/// Checks rows of an instruction, the operands and R0.
#[track_caller]
fn check(rows: &[(&str, &[u32], u32)]) {
    for (instruction, operands, expected) in rows {
        let [found, _] = result(instruction, operands);
        assert_eq!(found, *expected, "{instruction} of {operands:x?} gives {found:#x} instead of {expected:#x}");
    }
}

const fn f(value: f32) -> u32 {
    value.to_bits()
}

const NAN: u32 = 0x7fff_ffff;
const INF: u32 = 0x7f80_0000;
const MINUS_ZERO: u32 = 0x8000_0000;
const TINY: u32 = 1;

#[test]
fn integers_wrap_carry_and_shift() {
    check(&[
        ("IADD3 R0, R1, R2, R3", &[1, u32::MAX, 5], 5),
        ("IADD3 R0, R1, -R2, RZ", &[3, 5], (-2i32) as u32),
        ("IADD3 R0, P0, R1, R2, RZ; IADD3.X R0, RZ, RZ, RZ, P0, !PT", &[u32::MAX, 1], 1),
        ("IADD3 R0, P0, R1, -R2, RZ; IADD3.X R0, RZ, RZ, RZ, P0, !PT", &[5, 3], 1),
        ("IADD3 R0, P0, R1, -R2, RZ; IADD3.X R0, RZ, RZ, RZ, P0, !PT", &[3, 5], 0),
        ("IMAD R0, R1, R2, R3", &[0x1_0001, 0x1_0001, 7], 0x2_0008),
        ("IMAD.HI.U32 R0, R1, R2, R4", &[1 << 31, 6, 0, 0, 10], 13),
        ("IMAD.HI R0, R1, R2, RZ", &[u32::MAX, 1], u32::MAX),
        ("IMAD.WIDE R0, R1, R2, R4; MOV R0, R1", &[(-3i32) as u32, 8, 0, 0x10, 1], 0),
        ("IMAD.WIDE.U32 R0, R1, R2, R4; MOV R0, R1", &[u32::MAX, u32::MAX, 0, 0, 0], u32::MAX - 1),
        ("LEA R0, R1, R2, 0x3", &[5, 100], 140),
        ("LEA.HI R0, R1, R2, R3, 0x4", &[0xf000_0000, 1, 0], 16),
        ("LEA.HI.SX32 R0, R1, R2, 0x1", &[(-2i32) as u32, 0], u32::MAX),
        ("SHF.R.U32.HI R0, RZ, R1, R2", &[4, 0x80], 8),
        ("SHF.R.S32.HI R0, RZ, 0x1f, R1", &[1 << 31], u32::MAX),
        ("SHF.R.U32.HI R0, RZ, R1, R2", &[32, u32::MAX], 0),
        ("SHF.L.U32 R0, R1, R2, RZ", &[3, 31], 1 << 31),
        ("SHF.L.U32 R0, R1, R2, RZ", &[3, 40], 0),
        ("SHF.L.W.U32.HI R0, R1, R2, R1", &[0x8000_0001, 1], 3),
        ("SHF.L.U64.HI R0, R1, 0x8, R2", &[0xff00_0000, 1], 0x1ff),
        ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", &[0b1100, 0b1010, 0b1111], 0b1001),
        ("LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT", &[0b1100, 0b1010], 0b1000),
        ("LOP3.LUT R0, RZ, R1, RZ, 0x33, !PT", &[0xff], !0xff),
        ("PRMT R0, R1, 0x5410, R2", &[0xaabb_ccdd, 0x1122_3344], 0x3344_ccdd),
        ("PRMT R0, R1, 0x8880, RZ", &[0x80], 0xffff_ff80),
        ("IABS R0, R1", &[(-7i32) as u32], 7),
        ("POPC R0, R1", &[0xf0f0], 8),
        ("BREV R0, R1", &[1], 1 << 31),
        ("FLO.U32 R0, R1", &[0x100], 8),
        ("FLO.U32 R0, R1", &[0], u32::MAX),
        ("FLO.U32.SH R0, R1", &[0x100], 23),
        ("SGXT R0, R1, 0x8", &[0x1ff], u32::MAX),
        ("SGXT.U32 R0, R1, 0x4", &[0x1ff], 0xf),
        ("BMSK R0, R1, R2", &[4, 3], 0x70),
        ("IDP.4A.S8.S8 R0, R1, R2, R3", &[0x01ff_0203, 0x0102_0304, 10], 27),
        ("VIADD R0, R1, R2", &[7, (-9i32) as u32], (-2i32) as u32),
    ]);
}

#[test]
fn the_smallest_and_largest_follow_signs_and_predicates() {
    let minus = (-4i32) as u32;
    check(&[
        ("VIMNMX R0, R1, R2, PT", &[minus, 3], minus),
        ("VIMNMX R0, R1, R2, !PT", &[minus, 3], 3),
        ("VIMNMX.U32 R0, R1, R2, PT", &[minus, 3], 3),
        ("VIADDMNMX R0, R1, R2, R3, PT", &[2, 3, 4], 4),
        ("VIMNMX3 R0, R1, R2, R3, PT", &[5, minus, 3], minus),
        ("VIMNMX3 R0, R1, R2, R3, !PT", &[5, minus, 9], 9),
        ("FMNMX R0, R1, R2, PT", &[f(1.0), NAN], f(1.0)),
        ("FMNMX R0, R1, R2, !PT", &[NAN, f(-1.0)], f(-1.0)),
        ("FMNMX.NAN R0, R1, R2, PT", &[f(1.0), NAN], NAN),
        ("FMNMX R0, R1, R2, PT", &[0, MINUS_ZERO], MINUS_ZERO),
        ("FMNMX R0, R1, R2, !PT", &[MINUS_ZERO, 0], 0),
        ("FMNMX R0, |R1|, -R2, !PT", &[f(-3.0), f(-2.0)], f(3.0)),
        ("FMNMX R0, R1, R2, PT", &[NAN, 0xffc0_0000], NAN),
    ]);
}

#[test]
fn comparisons_answer_by_predicates() {
    let chosen = |test: &str| format!("{test}; SEL R0, 0x1, 0x2, P0") as String;
    let rows: &[(&str, &[u32], u32)] = &[
        ("ISETP.LT.AND P0, PT, R1, R2, PT", &[u32::MAX, 1], 1),
        ("ISETP.LT.U32.AND P0, PT, R1, R2, PT", &[u32::MAX, 1], 2),
        ("ISETP.NE.OR P0, PT, R1, R2, PT", &[1, 1], 1),
        ("ISETP.EQ.XOR P0, PT, R1, R2, PT", &[1, 1], 2),
        ("ISETP.GE.AND P1, P0, R1, R2, PT", &[1, 2], 1),
        ("ISETP.GE.U32.AND P1, PT, R1, R3, PT; ISETP.GE.U32.AND.EX P0, PT, R2, R4, PT, P1", &[5, 1, 4, 1], 1),
        ("ISETP.GE.U32.AND P1, PT, R1, R3, PT; ISETP.GE.U32.AND.EX P0, PT, R2, R4, PT, P1", &[3, 1, 4, 1], 2),
        ("ISETP.GT.U32.AND P1, PT, R1, R3, PT; ISETP.GT.AND.EX P0, PT, R2, R4, PT, P1", &[9, u32::MAX, 4, 0], 2),
        ("FSETP.LT.AND P0, PT, R1, R2, PT", &[f(1.0), NAN], 2),
        ("FSETP.LTU.AND P0, PT, R1, R2, PT", &[f(1.0), NAN], 1),
        ("FSETP.GEU.AND P0, PT, |R1|, R2, PT", &[f(-3.0), f(2.0)], 1),
        ("FSETP.NEU.AND P0, PT, R1, R1, PT", &[NAN], 1),
        ("FSETP.EQ.AND P0, PT, R1, R2, PT", &[0, MINUS_ZERO], 1),
        ("FSETP.NAN.AND P0, PT, R1, R1, PT", &[f(2.0)], 2),
        ("PLOP3.LUT P0, PT, PT, PT, !PT, 0x80, 0x8", &[], 2),
        ("PLOP3.LUT P0, PT, PT, PT, PT, 0x80, 0x8", &[], 1),
    ];
    for (test, operands, expected) in rows {
        assert_eq!(result(&chosen(test), operands)[0], *expected, "{test} of {operands:x?}");
    }
    check(&[
        ("FSET.BF.GT.AND R0, R1, R2, PT", &[f(2.0), f(1.0)], f(1.0)),
        ("FSET.GT.AND R0, R1, R2, PT", &[f(2.0), f(1.0)], u32::MAX),
        ("ISETP.EQ.AND P2, PT, RZ, RZ, PT; P2R R0, PR, R1, 0x4", &[0x80], 0x84),
        ("R2P PR, R1, 0x3; SEL R0, 0x1, 0x2, P1", &[0x2], 1),
        ("FSEL R0, R1, -R2, !PT", &[f(1.0), f(2.0)], f(-2.0)),
    ]);
}

#[test]
fn singles_round_saturate_and_flush() {
    check(&[
        ("FADD R0, R1, R2", &[f(1.5), f(2.25)], f(3.75)),
        ("FADD R0, R1, -R2", &[INF, INF], NAN),
        ("FADD R0, R1, R2", &[TINY, TINY], 2),
        ("FADD.FTZ R0, R1, R2", &[TINY, TINY], 0),
        ("FADD.SAT R0, R1, R2", &[f(1.0), f(1.0)], f(1.0)),
        ("FADD.SAT R0, R1, R2", &[NAN, f(1.0)], 0),
        ("FMUL R0, R1, R2", &[f(3.0), f(-0.0)], MINUS_ZERO),
        ("FMUL R0, R1, R2", &[INF, 0], NAN),
        ("FFMA R0, R1, R1, R2", &[0x3f80_0800, f(-1.0)], 0x3a00_0400),
        ("FFMA.SAT R0, R1, R2, R3", &[f(-2.0), f(1.0), f(1.0)], 0),
        ("FFMA.RM R0, R1, R2, R3", &[f(1.0), f(12_582_912.0), f(0.75)], f(12_582_912.0)),
        ("FFMA.RP R0, R1, R2, R3", &[f(1.0), f(12_582_912.0), f(0.25)], f(12_582_913.0)),
        ("FFMA.RZ R0, R1, R2, R3", &[f(-1.0), f(12_582_912.0), f(-0.75)], f(-12_582_912.0)),
    ]);
}

#[test]
fn doubles_take_pairs_of_registers() {
    let pair = |value: f64| [value.to_bits() as u32, (value.to_bits() >> 32) as u32];
    let ([a, b], [c, d]) = (pair(1.5), pair(-2.25));
    // The sum's upper word; the lower one is zero.
    let upper = |value: f64| pair(value)[1];
    check(&[
        ("DADD R2, R2, R4; MOV R0, R3", &[0, a, b, c, d], upper(-0.75)),
        ("DMUL R2, R2, -R4; MOV R0, R3", &[0, a, b, c, d], upper(3.375)),
        ("DFMA R2, R2, R4, R2; MOV R0, R3", &[0, a, b, c, d], upper(-1.875)),
        ("DSETP.LT.AND P0, PT, R4, R2, PT; SEL R0, 0x1, 0x2, P0", &[0, a, b, c, d], 1),
        ("F2F.F64.F32 R2, R1; MOV R0, R3", &[f(1.5)], upper(1.5)),
        ("F2F.F32.F64 R0, R2", &[0, a, b], f(1.5)),
        ("MUFU.RCP64H R0, R3", &[0, 0, upper(2.0)], upper(0.5)),
        ("MUFU.RSQ64H R0, R3", &[0, 0, upper(4.0)], upper(0.5)),
    ]);
}

#[test]
fn conversions_saturate_and_round() {
    check(&[
        ("I2F R0, R1", &[(-3i32) as u32], f(-3.0)),
        ("I2F.U32 R0, R1", &[u32::MAX], f(4_294_967_296.0)),
        ("I2F.U32.RP R0, R1", &[16_777_217], f(16_777_218.0)),
        ("I2FP.F32.S32 R0, R1", &[7], f(7.0)),
        ("I2FP.F32.U32 R0, R1", &[1 << 31], f(2_147_483_648.0)),
        ("I2F.S64 R0, R2", &[0, u32::MAX, u32::MAX], f(-1.0)),
        ("I2F.S8 R0, R1", &[0xff], f(-1.0)),
        ("F2I.TRUNC.NTZ R0, R1", &[f(-2.75)], (-2i32) as u32),
        ("F2I.FLOOR.NTZ R0, R1", &[f(-2.25)], (-3i32) as u32),
        ("F2I.NTZ R0, R1", &[f(2.5)], 2),
        ("F2I.U32.TRUNC.NTZ R0, R1", &[f(-1.0)], 0),
        ("F2I.TRUNC.NTZ R0, R1", &[f(1e10)], i32::MAX as u32),
        ("F2I.TRUNC.NTZ R0, R1", &[NAN], 0),
        ("F2I.S64.TRUNC R2, R1; MOV R0, R3", &[f(-1.0)], u32::MAX),
        ("F2I.S64.TRUNC R2, R1; MOV R0, R3", &[NAN], 1 << 31),
        ("FRND.FLOOR R0, R1", &[f(-0.5)], f(-1.0)),
        ("FRND R0, R1", &[f(2.5)], f(2.0)),
        ("FRND.TRUNC R0, R1", &[f(-0.5)], MINUS_ZERO),
        ("HADD2.F32 R0, -RZ, R1.H1_H1", &[0x3c00_0000], f(1.0)),
        ("F2FP.F16.F32.PACK_AB R0, R1, R2", &[f(1.0), f(-2.0)], 0x3c00_c000),
        ("F2FP.BF16.F32.PACK_AB R0, R1, R2", &[f(1.0), f(-2.0)], 0x3f80_c000),
    ]);
}

#[test]
fn approximations_are_near_and_flush_subnormal_numbers() {
    check(&[
        ("MUFU.RCP R0, R1", &[f(4.0)], f(0.25)),
        ("MUFU.RCP R0, R1", &[MINUS_ZERO], 0xff80_0000),
        ("MUFU.RSQ R0, R1", &[f(0.25)], f(2.0)),
        ("MUFU.SQRT R0, R1", &[f(9.0)], f(3.0)),
        ("MUFU.EX2 R0, R1", &[f(-3.0)], f(0.125)),
        ("MUFU.EX2 R0, R1", &[f(-140.0)], 0),
        ("MUFU.LG2 R0, R1", &[f(8.0)], f(3.0)),
        ("MUFU.LG2 R0, R1", &[0], 0xff80_0000),
        ("MUFU.TANH R0, R1", &[f(40.0)], f(1.0)),
        ("MUFU.RCP R0, R1", &[TINY], INF),
        ("MUFU.RSQ R0, R1", &[f(-1.0)], NAN),
    ]);
    let moved = ExecuteOptions { nudge: Some(7), ..ExecuteOptions::default() };
    let code = ["MOV R1, 0x40400000", "MUFU.RCP R0, R1", "STG.E desc[UR4][R10.64], R0"].map(str::to_owned);
    let near: Vec<u32> = (0..40)
        .map(|seed| run(&code, &[0], &ExecuteOptions { nudge: Some(seed), ..moved }).expect("it runs")[0])
        .collect();
    let exact = f(1.0 / 3.0);
    assert!(near.iter().all(|word| word.abs_diff(exact) <= 2), "{near:x?}");
    assert!((exact - 2..=exact + 2).all(|word| near.contains(&word)), "every distance is met");
}

#[test]
fn lanes_exchange_vote_and_part() {
    let code = lines(
        "S2R R0, SR_LANEID
        SHFL.BFLY PT, R1, R0, 0x1, 0x1f
        SHFL.DOWN P0, R2, R0, 0x4, 0x1f
        SHFL.UP P1, R3, R0, 0x2, 0x0
        SHFL.IDX PT, R4, R0, 0x7, 0x1f
        ISETP.GE.AND P2, PT, R0, 0x10, PT
        VOTE.ANY R5, PT, P2
        SEL R6, 0x1, RZ, P0
        IMAD R8, R1, 0x40, R2
        IMAD R8, R6, 0x1000, R8
        IMAD R8, R3, 0x10000, R8
        IMAD R8, R4, 0x1000000, R8
        IMAD.WIDE R12, R0, 0x4, R10
        STG.E desc[UR4][R12.64], R8
        STG.E desc[UR4][R10.64+0x80], R5",
    );
    let found = run(&code, &[0; 33], &ExecuteOptions::default()).expect("it runs");
    let lane = |lane: u32| {
        let down = if lane + 4 < 32 { lane + 4 } else { lane };
        let up = if lane >= 2 { lane - 2 } else { lane };
        (lane ^ 1) * 0x40 + down + u32::from(lane + 4 < 32) * 0x1000 + up * 0x1_0000 + 7 * 0x100_0000
    };
    assert_eq!(found[..32], (0..32).map(lane).collect::<Vec<u32>>());
    assert_eq!(found[32], 0xffff_0000);
    let parting = lines(
        "S2R R0, SR_LANEID
        BSSY B0, `(.meet)
        ISETP.GE.AND P0, PT, R0, 0x8, PT
        MOV R1, 0x1
        @P0 BRA `(.meet)
        MOV R1, 0x2
        .meet:
        BSYNC B0
        WARPSYNC.ALL
        IMAD.WIDE R12, R0, 0x4, R10
        STG.E desc[UR4][R12.64], R1",
    );
    let found = run(&parting, &[0; 32], &ExecuteOptions::default()).expect("it runs");
    assert_eq!(found, (0..32).map(|lane| if lane < 8 { 2 } else { 1 }).collect::<Vec<u32>>());
}

#[test]
fn memory_moves_bytes_pairs_and_quads() {
    let code = lines(
        "MOV R0, 0x11223384
        MOV R1, 0x55667788
        STS.64 [0x400], R0
        LDS.S8 R4, [0x400]
        LDS.U16 R5, [0x402]
        LDS R6, [0x404]
        STS.U8 [0x401], R1
        LDS R7, [0x400]
        STG.E.128 desc[UR4][R10.64], R4
        LDG.E.U8 R8, desc[UR4][R10.64+0x5]
        STG.E.U16 desc[UR4][R10.64+0x12], R8
        ATOMG.E.ADD.STRONG.GPU PT, R9, desc[UR4][R10.64+0x14], R8
        REDG.E.MAX.64.STRONG.GPU desc[UR4][R10.64+0x18], R0
        STL [0x10], R1
        LDL R2, [0x10]
        STG.E desc[UR4][R10.64+0x20], R2",
    );
    let found = run(&code, &[9; 9], &ExecuteOptions::default()).expect("it runs");
    assert_eq!(found[..4], [0xffff_ff84, 0x1122, 0x5566_7788, 0x1122_8884]);
    assert_eq!(found[4], 0x0011_0009, "a half of a word is stored");
    assert_eq!(found[5], 9 + 32 * 0x11, "every lane adds");
    assert_eq!(found[6..8], [0x1122_3384, 0x5566_7788], "of two words the upper one decides");
    assert_eq!(found[8], 0x5566_7788);
}

#[test]
fn what_a_device_would_not_do_is_a_fault() {
    let fault = |text: &str| match run(&lines(text), &[0; 4], &ExecuteOptions::default()) {
        Err(LaunchError::Fault(fault)) => fault.kind,
        other => panic!("{text}: {other:?}"),
    };
    assert!(matches!(fault("LDG.E R0, desc[UR4][R10.64+0x10]"), FaultKind::Outside(..)));
    assert!(matches!(fault("LDG.E.64 R0, desc[UR4][R10.64+0x4]"), FaultKind::Misaligned(..)));
    assert!(matches!(fault("LDG.E R0, desc[UR4][RZ.64]"), FaultKind::Outside(_, _, None)));
    assert!(matches!(fault("LDS R0, [0x400]"), FaultKind::Unwritten(..)));
    assert!(matches!(fault("STS [0x3fc], RZ"), FaultKind::Outside(..)), "the first bytes are the system's");
    assert!(matches!(fault("STS [0x800], RZ"), FaultKind::Outside(..)));
    assert!(matches!(fault("LDC R0, c[0x0][0x400]"), FaultKind::Outside(..)));
    assert!(matches!(fault("FROB R1, R2"), FaultKind::Unknown { .. }));
    assert!(matches!(fault("BPT.TRAP 0x1"), FaultKind::Trap | FaultKind::Unknown { .. }));
    assert!(matches!(fault("MOV R0, 0x10\nMOV R1, 0x0\nRET.ABS.NODEC R0 0x0"), FaultKind::Jump(_)));
    let parted = "S2R R0, SR_LANEID
        ISETP.GE.AND P0, PT, R0, 0x8, PT
        @P0 WARPSYNC.ALL
        @!P0 BAR.SYNC.DEFER_BLOCKING 0x0";
    assert!(matches!(fault(parted), FaultKind::Converge { .. } | FaultKind::Barrier { .. }));
    let endless = ".loop:\nBRA `(.loop)";
    let limited = ExecuteOptions { limit: 10_000, ..ExecuteOptions::default() };
    assert!(
        matches!(run(&lines(endless), &[], &limited), Err(LaunchError::Fault(fault)) if fault.kind == FaultKind::TooLong)
    );
}

#[test]
fn forms_that_are_not_heeded_are_refused() {
    let refused = [
        "HFMA2.OOB R0, R1, R2, R3",
        "HMUL2.RELU R0, R1, R2",
        "HADD2 R0, R1.F32, R2",
        "HADD2 R0, R1, R2, R3",
        "HADD2.F32 R0, R1, R2.H0_H0",
        "HADD2.F32.SAT R0, R1.H0_H0, R2.H0_H0",
        "HMNMX2.XORSIGN R0, R1, R2, PT",
        "HSETP2.H_AND.EQ.AND P0, PT, R1, R2, PT",
        "F2FP.F16.F32.MERGE_C R0, R1, R2",
        "F2FP.SATFINITE.F16.F32.PACK_AB R0, R1, R2",
        "F2FP.TF32.F32.PACK_AB R0, R1, R2",
        "HMMA.16816.F32.TF32 R0, R4, R8, R12",
        "HMMA.1688.F16.BF16 R0, R4, R8, R12",
        "HMMA.16816.F32 R0, R4, R8, -R12",
        "HMMA.16816.F32 R252, R4, R8, R12",
        "HMMA.SP.16832.F32 R0, R4, R8, R12",
        "LDSM.8.M88 R0, [0x400]",
    ];
    for text in refused {
        let found = run(&lines(text), &[0; 4], &ExecuteOptions::default());
        let is_refused =
            matches!(&found, Err(LaunchError::Fault(fault)) if matches!(fault.kind, FaultKind::Unknown { .. }));
        assert!(is_refused, "{text}: {found:?}");
    }
}

/// Two blocks of one warp: the first stores two words and then a flag, the second has read a word before, waits for the flag
/// and reads both. Whether the second has seen everything, under each of some seeds.
fn messages(fence: &str, invalidation: &str) -> Vec<bool> {
    let text = format!(
        "S2R R0, SR_CTAID.X
        MOV R1, 0x5
        ISETP.EQ.AND P0, PT, R0, 0x1, PT
        @P0 BRA `(.reader)
        STG.E desc[UR4][R10.64], R1
        STG.E desc[UR4][R10.64+0x100], R1
        {fence}
        STG.E.STRONG.GPU desc[UR4][R10.64+0x200], R1
        EXIT
        .reader:
        LDG.E R2, desc[UR4][R10.64]
        .poll:
        LDG.E.STRONG.GPU R3, desc[UR4][R10.64+0x200]
        ISETP.EQ.AND P1, PT, R3, RZ, PT
        @P1 BRA `(.poll)
        {invalidation}
        LDG.E R4, desc[UR4][R10.64]
        LDG.E R5, desc[UR4][R10.64+0x100]
        STG.E desc[UR4][R10.64+0x300], R4
        STG.E desc[UR4][R10.64+0x304], R5"
    );
    let seen = |seed| {
        let options = ExecuteOptions { weak: Some(seed), ..ExecuteOptions::default() };
        let found = run_blocks(&lines(&text), &[0; 0xc2], 2, &options).expect("it runs");
        found[0xc0..] == [5, 5]
    };
    (0..40).map(seen).collect()
}

#[test]
fn weak_memory_shows_what_orders_nothing() {
    let all = |seen: Vec<bool>| seen.into_iter().all(|seen| seen);
    assert!(all(messages("MEMBAR.ALL.GPU", "CCTL.IVALL")), "a message that is ordered arrives");
    assert!(!all(messages("NOP", "CCTL.IVALL")), "without a fence the flag overtakes the data");
    assert!(!all(messages("MEMBAR.ALL.CTA", "CCTL.IVALL")), "a fence of the block is too narrow");
    assert!(!all(messages("MEMBAR.ALL.GPU", "NOP")), "without an invalidation an earlier value is read again");
}

/// Two warps: the first stores to shared memory, the second reads it behind a barrier.
fn handed_over(barrier: &str) -> bool {
    let text = format!(
        "S2R R0, SR_TID.X
        ISETP.GE.AND P0, PT, R0, 0x20, PT
        MOV R1, 0x5
        STS [0x400], RZ
        BAR.SYNC.DEFER_BLOCKING 0x0
        @!P0 STS [0x400], R1
        {barrier}
        @P0 LDS R2, [0x400]
        @P0 STG.E desc[UR4][R10.64], R2"
    );
    (0..40).all(|seed| {
        let options = ExecuteOptions { weak: Some(seed), ..ExecuteOptions::default() };
        run_threads(&lines(&text), &[0], (1, 64), &options).expect("it runs") == [5]
    })
}

/// A copy that is read behind this wait.
fn copied(wait: &str) -> bool {
    let text = format!(
        "MOV R1, 0x400
        MOV R3, 0x7
        STS [0x400], R3
        LDGSTS.E [R1], desc[UR4][R10.64]
        LDGDEPBAR
        {wait}
        LDS R2, [0x400]
        STG.E desc[UR4][R10.64+0x4], R2"
    );
    let options = ExecuteOptions { weak: Some(1), ..ExecuteOptions::default() };
    run(&lines(&text), &[5, 0], &options).expect("it runs")[1] == 5
}

#[test]
fn barriers_and_waits_for_copies_are_needed() {
    assert!(handed_over("BAR.SYNC.DEFER_BLOCKING 0x0"));
    assert!(!handed_over("NOP"), "without a barrier a warp reads too early");
    assert!(copied("DEPBAR.LE SB0, 0x0"));
    assert!(!copied("NOP"), "without a wait the copy has not landed");
    assert!(!copied("DEPBAR.LE SB0, 0x1"), "a wait that lets a group be late is none");
}

#[test]
fn a_wait_that_nobody_ends_gives_up_by_the_code_s_own_clock() {
    let text = "CS2R R2, SR_GLOBALTIMERLO
        .poll:
        LDG.E.STRONG.GPU R4, desc[UR4][R10.64]
        CS2R R6, SR_GLOBALTIMERLO
        IADD3 R8, P0, R6, -R2, RZ
        IADD3.X R9, R7, ~R3, RZ, P0, !PT
        ISETP.NE.AND P1, PT, R9, RZ, PT
        ISETP.EQ.AND P2, PT, R4, RZ, PT
        @P1 EXIT
        @P2 BRA `(.poll)";
    for weak in [None, Some(3)] {
        let options = ExecuteOptions { weak, ..ExecuteOptions::default() };
        assert_eq!(run_blocks(&lines(text), &[0], 3, &options).expect("it ends"), [0]);
    }
}
