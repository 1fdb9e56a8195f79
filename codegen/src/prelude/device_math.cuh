// The prelude's device body: arithmetic.

WW_FUNCTION float ww_f32_of_bits(ww_u32 bits) { return __uint_as_float(bits); }
WW_FUNCTION ww_u32 ww_bits_of_f32(float value) { return __float_as_uint(value); }
WW_FUNCTION float ww_fused_multiply_add(float x, float y, float z) { return __fmaf_rn(x, y, z); }
WW_FUNCTION double ww_fused_multiply_add(double x, double y, double z) { return __fma_rn(x, y, z); }
WW_FUNCTION float ww_reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
WW_FUNCTION float ww_reciprocal_root(float x) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// The operands hold the divisor's multiplier and shift.
WW_FUNCTION ww_u32 ww_fast_divide(ww_u32 value, ww_u32 multiplier, ww_u32 shift) {
  return (__umulhi(value, multiplier) + (multiplier == 0u ? value : 0u)) >> shift;
}

// NaN if either is NaN; the negative zero is the smaller.
WW_FUNCTION float ww_minimum(float x, float y) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
WW_FUNCTION float ww_maximum(float x, float y) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
WW_FUNCTION float ww_absolute(float x) { return fabsf(x); }
WW_FUNCTION float ww_exp(float x) { return expf(x); }
WW_FUNCTION float ww_log(float x) { return logf(x); }
// Right within 3 units in the last place; the sum is 1 or more, so its approximate reciprocal is as good as a quotient.
WW_FUNCTION float ww_logistic(float x) { return ww_reciprocal(1.0f + expf(-x)); }
// Right within 3 units in the last place: an odd polynomial near zero, 1 - 2 / (e^2x + 1) elsewhere. Both are computed, so
// that threads do not part.
WW_FUNCTION float ww_tanh(float x) {
  float const magnitude = fabsf(x), square = x * x;
  float const far = __fmaf_rn(-2.0f, ww_reciprocal(1.0f + expf(2.0f * magnitude)), 1.0f);
  float series = __fmaf_rn(0.01521813f, square, -0.05195784f);
  series = __fmaf_rn(series, square, 0.13308169f);
  series = __fmaf_rn(series, square, -0.33332311f);
  float const near = __fmaf_rn(series * square, x, x);
  // The odd polynomial of a negative zero is a positive one.
  return copysignf(magnitude < 0.625f ? near : far, x);
}
WW_FUNCTION float ww_erf(float x) { return erff(x); }
WW_FUNCTION float ww_atan(float x) { return atanf(x); }
WW_FUNCTION float ww_floor(float x) { return floorf(x); }
WW_FUNCTION float ww_ceil(float x) { return ceilf(x); }
WW_FUNCTION float ww_round_even(float x) { return rintf(x); }
WW_FUNCTION float ww_power(float x, float y) { return powf(x, y); }

// Truncates and saturates; NaN gives 0, which the 64-bit conversion does not do by itself.
WW_FUNCTION ww_u32 ww_i32_of_f32(float value) { return (ww_u32)__float2int_rz(value); }
WW_FUNCTION ww_u64 ww_i64_of_f32(float value) { return value != value ? 0ull : (ww_u64)__float2ll_rz(value); }
