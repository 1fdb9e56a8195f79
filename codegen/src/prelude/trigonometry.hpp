// Sine and cosine in both bodies, bit for bit the same: the device's own need an array in local memory for large
// arguments.

struct ww_angle {
  // Distance from the nearest multiple of half pi, and that multiple modulo 4.
  float rest;
  ww_u32 quadrant;
};

// Words of 2 / pi after the binary point, 32 zeros before them; without an array, so that they are immediates.
WW_FUNCTION ww_u32 ww_two_over_pi(ww_u32 word) {
  return word == 0u   ? 0u
         : word == 1u ? 0xa2f9836eu
         : word == 2u ? 0x4e441529u
         : word == 3u ? 0xfc2757d1u
         : word == 4u ? 0xf534ddc0u
         : word == 5u ? 0xdb629599u
                      : 0x3c439041u;
}

// 32 bits of 2 / pi from bit `first` on.
WW_FUNCTION ww_u32 ww_two_over_pi_bits(ww_u32 first) {
  ww_u64 const both = (ww_u64)ww_two_over_pi(first / 32u) << 32 | ww_two_over_pi(first / 32u + 1u);
  return (ww_u32)(both >> (32u - first % 32u));
}

// For 2^16 <= |x| < infinity: the fraction and the last two whole bits of x * 2 / pi in fixed point.
WW_FUNCTION ww_angle ww_reduce_large(float x) {
  ww_u32 const bits = ww_bits_of_f32(x);
  ww_u32 const first = (bits >> 23 & 0xffu) - 128u;
  ww_u64 const mantissa = bits << 8 | 0x80000000u;
  ww_u64 const turns = (mantissa * ww_two_over_pi_bits(first) << 32) + mantissa * ww_two_over_pi_bits(first + 32u) +
                       (mantissa * ww_two_over_pi_bits(first + 64u) >> 32);
  ww_u32 const quadrant = (ww_u32)((turns + (1ull << 61)) >> 62);
  long long const rest = (long long)(turns - ((ww_u64)quadrant << 62));
  float const magnitude = (float)((double)rest * 0x1.921fb54442d18p-62);
  bool const negative = bits >> 31 != 0u;
  return {negative ? -magnitude : magnitude, negative ? -quadrant : quadrant};
}

WW_FUNCTION ww_angle ww_reduce(float x) {
  if (ww_absolute(x) >= 65536.0f) {
    if (ww_absolute(x) == ww_f32_of_bits(0x7f800000u)) return {x - x, 0u};
    return ww_reduce_large(x);
  }
  float const multiple = ww_round_even(x * 0x1.45f306p-1f);
  float rest = ww_fused_multiply_add(multiple, -0x1.921fb4p+0f, x);
  rest = ww_fused_multiply_add(multiple, -0x1.4442d2p-24f, rest);
  rest = ww_fused_multiply_add(multiple, 0x1.ee59dap-50f, rest);
  return {rest, ww_i32_of_f32(multiple)};
}

// The sine of the angle turned by `quarters` quarters.
WW_FUNCTION float ww_sine(ww_angle angle, ww_u32 quarters) {
  float const x = angle.rest;
  float const square = x * x;
  ww_u32 const quadrant = angle.quadrant + quarters;
  float result;
  if ((quadrant & 1u) == 0u) {
    result = ww_fused_multiply_add(square, 0x1.71de3ap-19f, -0x1.a01a02p-13f);
    result = ww_fused_multiply_add(square, result, 0x1.111112p-7f);
    result = ww_fused_multiply_add(square, result, -0x1.555556p-3f);
    result = ww_fused_multiply_add(square * x, result, x);
  } else {
    result = ww_fused_multiply_add(square, -0x1.27e4fcp-22f, 0x1.a01a02p-16f);
    result = ww_fused_multiply_add(square, result, -0x1.6c16c2p-10f);
    result = ww_fused_multiply_add(square, result, 0x1.555556p-5f);
    result = ww_fused_multiply_add(square, result, -0.5f);
    result = ww_fused_multiply_add(square, result, 1.0f);
  }
  return (quadrant & 2u) == 0u ? result : -result;
}

// Near 0 the sine is its argument, whose sign a zero keeps.
WW_FUNCTION float ww_sin(float x) { return ww_absolute(x) < 0x1p-12f ? x : ww_sine(ww_reduce(x), 0u); }
WW_FUNCTION float ww_cos(float x) { return ww_sine(ww_reduce(x), 1u); }
