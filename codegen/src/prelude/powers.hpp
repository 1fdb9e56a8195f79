// Powers of integers and remainders of floats, exact and the same on every device.

// x to the power of y by squaring, wrapping; a negative exponent truncates, as a division does.
template <typename Word>
WW_FUNCTION Word ww_integer_power(Word x, Word y, bool negative) {
  Word const one = 1, minus_one = (Word)0 - one;
  if (negative) return x == one || (x == minus_one && (y & one) == 0) ? one : x == minus_one ? x : (Word)0;
  Word result = one;
  for (; y != 0; y >>= 1) {
    if ((y & one) != 0) result *= x;
    x *= x;
  }
  return result;
}
WW_FUNCTION ww_u32 ww_power(ww_u32 x, ww_u32 y) { return ww_integer_power<ww_u32>(x, y, (int)y < 0); }
WW_FUNCTION ww_u64 ww_power(ww_u64 x, ww_u64 y) { return ww_integer_power<ww_u64>(x, y, (long long)y < 0); }

// What a truncating division of floats leaves, with the sign of x. The significands are divided as integers, eight bits of the
// quotient at a time, so nothing is rounded.
WW_FUNCTION float ww_remainder(float x, float y) {
  ww_u32 const infinity = 0x7f800000u, hidden = 0x00800000u;
  ww_u32 const sign = ww_bits_of_f32(x) & 0x80000000u;
  ww_u32 const left = ww_bits_of_f32(x) & 0x7fffffffu, right = ww_bits_of_f32(y) & 0x7fffffffu;
  if (left >= infinity || right > infinity || right == 0u) return ww_f32_of_bits(0x7fc00000u);
  if (left < right) return x;
  // A subnormal number has the exponent of the least normal ones and no hidden bit.
  ww_u32 const low = right >= hidden ? right >> 23 : 1u;
  ww_u32 steps = (left >= hidden ? left >> 23 : 1u) - low;
  ww_u32 const divisor = right >= hidden ? (right & (hidden - 1u)) | hidden : right;
  ww_u32 rest = (left >= hidden ? (left & (hidden - 1u)) | hidden : left) % divisor;
  for (; steps >= 8u; steps -= 8u) rest = (rest << 8) % divisor;
  rest = (rest << steps) % divisor;
  // rest * 2^(low - 150), both factors and the product being floats.
  float const unit = ww_f32_of_bits(low > 23u ? (low - 23u) << 23 : 1u << (low - 1u));
  return ww_f32_of_bits(ww_bits_of_f32((float)rest * unit) | sign);
}
