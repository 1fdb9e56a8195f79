//! Functions of words that the timing model and the executor of machine code both need.

/// The lower bits of a word, `width` of them, with the sign of the highest repeated if it is signed.
pub fn extend(word: u32, width: u32, signed: bool) -> u32 {
    match width {
        0 => 0,
        1..=31 if signed => ((word << (32 - width)) as i32 >> (32 - width)) as u32,
        1..=31 => word & ((1 << width) - 1),
        _ => word,
    }
}

/// Bytes of eight, chosen by the nibbles of the selector; its upper bit repeats a byte's sign.
pub fn permute(low: u32, selector: u32, high: u32) -> u32 {
    let bytes = u64::from(high) << 32 | u64::from(low);
    (0..4).fold(0, |word, place| {
        let nibble = selector >> (4 * place) & 0xf;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        word | u32::from(byte) << (8 * place)
    })
}
