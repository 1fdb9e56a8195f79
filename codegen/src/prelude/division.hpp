// Quotients and square roots, rounded to nearest even, for every operand. What a compiler makes of `/` calls a function
// outside the unit for rare operands; a kernel of a linked program would have to keep its return address in local memory
// for that. Needs ww_reciprocal and ww_reciprocal_root, right within two units in the last place of normal results.

// x / y for magnitudes of y in [2^-40, 2^41) and of x in [2^-80, 2^81), or x the positive zero: nothing on the way
// overflows or loses bits (Markstein).
WW_FUNCTION float ww_near_quotient(float x, float y) {
  float inverse = ww_reciprocal(y);
  inverse = ww_fused_multiply_add(ww_fused_multiply_add(-y, inverse, 1.0f), inverse, inverse);
  float const first = x * inverse;
  float const second = ww_fused_multiply_add(ww_fused_multiply_add(-y, first, x), inverse, first);
  return ww_fused_multiply_add(ww_fused_multiply_add(-y, second, x), inverse, second);
}

// x / y for all others. In double no quotient of two floats is so near the middle between two floats that the result's
// own error could round it to the other one.
WW_FUNCTION float ww_far_quotient(float x, float y) {
  ww_u32 const infinity = 0x7f800000u;
  ww_u32 const left = ww_bits_of_f32(x) & 0x7fffffffu, right = ww_bits_of_f32(y) & 0x7fffffffu;
  if (left > infinity || right > infinity) return x + y;
  if (left == 0u || left == infinity || right == 0u || right == infinity) {
    ww_u32 const scale = right == 0u ? infinity : right == infinity ? 0u : 0x3f800000u;
    return x * ww_f32_of_bits(scale | (ww_bits_of_f32(y) & 0x80000000u));
  }
  // 2^64 or 2^-64 brings y where its reciprocal is a normal number.
  float const scale = ww_f32_of_bits(right < 0x20000000u ? 0x5f800000u : right > 0x5f800000u ? 0x1f800000u : 0x3f800000u);
  double const divisor = (double)(y * scale);
  double inverse = (double)ww_reciprocal(y * scale);
  inverse = ww_fused_multiply_add(ww_fused_multiply_add(-divisor, inverse, 1.0), inverse, inverse);
  inverse = ww_fused_multiply_add(ww_fused_multiply_add(-divisor, inverse, 1.0), inverse, inverse);
  double const quotient = (double)x * inverse;
  double const nearer = ww_fused_multiply_add(ww_fused_multiply_add(-divisor, quotient, (double)x), inverse, quotient);
  return (float)(nearer * (double)scale);
}

WW_FUNCTION float ww_divide(float x, float y) {
  ww_u32 const left = ww_bits_of_f32(x), right = ww_bits_of_f32(y);
  bool const near = (((right >> 23) & 255u) - 87u < 81u) & ((left == 0u) | (((left >> 23) & 255u) - 47u < 161u));
  if (near) return ww_near_quotient(x, y);
  return ww_far_quotient(x, y);
}

// The square root of x in [2^-100, infinity): root and half of its inverse are refined together, then the root is corrected
// by its remainder.
WW_FUNCTION float ww_near_root(float x) {
  float const inverse = ww_reciprocal_root(x);
  float const root = x * inverse, half = 0.5f * inverse;
  float const error = ww_fused_multiply_add(-half, root, 0.5f);
  float const nearer = ww_fused_multiply_add(root, error, root);
  return ww_fused_multiply_add(ww_fused_multiply_add(-nearer, nearer, x), ww_fused_multiply_add(half, error, half), nearer);
}

WW_FUNCTION float ww_sqrt(float x) {
  ww_u32 const bits = ww_bits_of_f32(x);
  if (bits - 0x0d800000u < 0x72000000u) return ww_near_root(x);
  if (bits - 1u < 0x0d7fffffu) return ww_near_root(x * 79228162514264337593543950336.0f) * 3.5527136788005009e-15f;
  return (bits & 0x7fffffffu) == 0u || bits == 0x7f800000u ? x : x + ww_f32_of_bits(0x7fc00000u);
}
