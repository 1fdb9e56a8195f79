//! Operands: values at which operations change their mind, and random ones from a seed.

use warpweave_codegen::emulate::random::Random;

use crate::operations::Type;

const WORDS: &[u32] = &[
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    24,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x5410,
    0x3254,
    0x0123,
    0x89ab,
    0x00ff_ffff,
    0x0100_0000,
    0x0100_0001,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ff80,
    0xffff_ff7f,
    0xffff_8000,
    0xffff_fffe,
    0xffff_ffff,
];
const LONGS: &[u64] = &[
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_0000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
    0x0020_0000_0000_0000,
    0x0020_0000_0000_0001,
    0x0020_0000_0000_0003,
    0x7fff_ffff_ffff_fdff,
    0x7fff_ffbf_ffff_ffff,
    0x7fff_ffc0_0000_0000,
    0xffff_ff80_0000_0000,
    0xffff_ff7f_ffff_ffff,
];
const SINGLES: &[u32] = &[
    0,
    1,
    2,
    0x0000_0100,
    0x0040_0000,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x00ff_ffff,
    0x0100_0000,
    0x3300_0000,
    0x3380_0000,
    0x3dcc_cccd,
    0x3eff_ffff,
    0x3f00_0000,
    0x3f00_0001,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x3fbf_ffff,
    0x3fc0_0000,
    0x4020_0000,
    0x4060_0000,
    0x40e0_0000,
    0x42fe_0000,
    0x42ff_0000,
    0x4300_0000,
    0x437f_8000,
    0x4380_0000,
    0x46ff_ff00,
    0x477f_ff80,
    0x477f_f000,
    0x477f_efff,
    0x4780_0000,
    0x4b00_0000,
    0x4aff_ffff,
    0x4b7f_ffff,
    0x4b80_0000,
    0x4eff_ffff,
    0x4f00_0000,
    0x4f7f_ffff,
    0x4f80_0000,
    0x5eff_ffff,
    0x5f00_0000,
    0x5f7f_ffff,
    0x5f80_0000,
    0x7f00_0000,
    0x7f7f_ffff,
    0x7f7f_0000,
    0x7f80_0000,
    0x7f80_0001,
    0x7fbf_ffff,
    0x7fc0_0000,
    0x7fff_ffff,
    0x3380_0001,
    0x387f_e000,
    0x387f_f000,
    0x3880_0000,
    0x3300_0001,
    0x3f80_1000,
    0x3f80_3000,
    0x3f80_1001,
    0x3f80_8000,
    0x3f81_8000,
];
const DOUBLES: &[u64] = &[
    0,
    1,
    2,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x0020_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3fdf_ffff_ffff_ffff,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x400c_0000_0000_0000,
    0x405f_c000_0000_0000,
    0x405f_e000_0000_0000,
    0x406f_f000_0000_0000,
    0x40df_ffe0_0000_0000,
    0x40ef_fff0_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41df_ffff_ffe0_0000,
    0x41e0_0000_0000_0000,
    0x41ef_ffff_ffe0_0000,
    0x41ef_ffff_fff0_0000,
    0x41f0_0000_0000_0000,
    0x4330_0000_0000_0000,
    0x432f_ffff_ffff_ffff,
    0x433f_ffff_ffff_ffff,
    0x43df_ffff_ffff_ffff,
    0x43e0_0000_0000_0000,
    0x43ef_ffff_ffff_ffff,
    0x43f0_0000_0000_0000,
    0x7fe0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x7ff8_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_efff_ffff,
    0x47ef_ffff_f000_0000,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
    0x3690_0000_0000_0001,
    0x380f_ffff_c000_0000,
    0x380f_ffff_e000_0000,
    0x3810_0000_0000_0000,
    0x3ff0_0000_1000_0000,
    0x3ff0_0000_3000_0000,
    0x3ff0_0000_1000_0001,
    0x40ef_fe00_0000_0000,
    0x40ef_fdff_ffff_ffff,
    0x3e60_0000_0000_0000,
    0x3e60_0000_0000_0001,
    0x3e70_0000_0000_0000,
    0x3f0f_fc00_0000_0000,
];
const HALVES: &[u16] = &[
    0, 1, 2, 0x3ff, 0x400, 0x401, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4100, 0x57f8, 0x5bfc, 0x7bff, 0x7c00,
    0x7c01, 0x7e00, 0x7fff, 0x0080, 0x3f80, 0x7f80, 0x7f7f, 0x7fc0,
];

/// Sets of operands of these types, three of each, with those that are missing 0.
pub fn sets(seed: u64, types: &[Type], count: usize) -> Vec<[u64; 3]> {
    let mut random = Random::new(seed);
    let mut set = |number: usize| {
        let mut own = [0; 3];
        for (place, ty) in types.iter().enumerate() {
            own[place] = operand(&mut random, *ty, if types.len() == 1 { Some(number) } else { None });
        }
        // Numbers of like size, so that sums cancel and results are rounded.
        if types.len() > 1 && types.iter().all(|ty| *ty == Type::Single) && below(&mut random, 4) == 0 {
            own[1] = own[0] & 0x7f80_0000 | below(&mut random, 1 << 23) | below(&mut random, 2) << 31;
        }
        if types.len() > 1 && types.iter().all(|ty| *ty == Type::Double) && below(&mut random, 4) == 0 {
            own[1] = own[0] & 0x7ff0_0000_0000_0000 | below(&mut random, 1 << 52) | below(&mut random, 2) << 63;
        }
        own
    };
    (0..count).map(&mut set).collect()
}

/// An operand. Of a single one all edges come first, with both signs.
fn operand(random: &mut Random, ty: Type, number: Option<usize>) -> u64 {
    let edges = match ty {
        Type::Word | Type::Divisor | Type::Distance => WORDS.len(),
        Type::Long | Type::LongDivisor | Type::LongDistance => LONGS.len(),
        Type::Single => SINGLES.len(),
        Type::Double => DOUBLES.len(),
        Type::Half | Type::Bfloat => HALVES.len(),
    };
    let edge = match number {
        Some(number) => (number < 2 * edges).then_some((number / 2, number as u64 % 2)),
        None => (below(random, 2) == 0).then(|| (below(random, edges as u64) as usize, below(random, 2))),
    };
    match ty {
        Type::Distance => below(random, 32),
        Type::LongDistance => below(random, 64),
        Type::Word => edge.map_or_else(|| word(random), |(place, _)| WORDS[place].into()),
        Type::Divisor => edge.map_or_else(|| word(random), |(place, _)| WORDS[place].into()).max(1),
        Type::Long => edge.map_or_else(|| long(random), |(place, _)| LONGS[place]),
        Type::LongDivisor => edge.map_or_else(|| long(random), |(place, _)| LONGS[place]).max(1),
        Type::Single => edge.map_or_else(|| single(random), |(place, sign)| u64::from(SINGLES[place]) | sign << 31),
        Type::Double => edge.map_or_else(|| double(random), |(place, sign)| DOUBLES[place] | sign << 63),
        Type::Half | Type::Bfloat => {
            edge.map_or_else(|| below(random, 1 << 16), |(place, sign)| u64::from(HALVES[place]) | sign << 15)
        }
    }
}

fn word(random: &mut Random) -> u64 {
    below(random, 1 << 32) >> below(random, 32)
}

fn long(random: &mut Random) -> u64 {
    (below(random, 1 << 32) << 32 | below(random, 1 << 32)) >> below(random, 64)
}

/// Any bits, or a number of the size of integers.
fn single(random: &mut Random) -> u64 {
    match below(random, 2) {
        0 => below(random, 1 << 32),
        _ => below(random, 1 << 23) | (100 + below(random, 95)) << 23 | below(random, 2) << 31,
    }
}

fn double(random: &mut Random) -> u64 {
    let bits = below(random, 1 << 32) << 32 | below(random, 1 << 32);
    match below(random, 2) {
        0 => bits,
        _ => bits & 0x800f_ffff_ffff_ffff | (900 + below(random, 195)) << 52,
    }
}

fn below(random: &mut Random, bound: u64) -> u64 {
    random.bits() % bound
}
