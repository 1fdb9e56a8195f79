// Quotients and roots of the device's prelude on the host, with approximations that are off by up to two units, against
// the host's own. Prints the first that differ; the exit code tells whether any did.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using ww_u32 = unsigned;
#define WW_FUNCTION static inline

static int units_off = 0;
static long wrong = 0;

WW_FUNCTION float ww_f32_of_bits(ww_u32 bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
WW_FUNCTION ww_u32 ww_bits_of_f32(float value) {
  ww_u32 bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
WW_FUNCTION float ww_fused_multiply_add(float x, float y, float z) { return std::fmaf(x, y, z); }
WW_FUNCTION double ww_fused_multiply_add(double x, double y, double z) { return std::fma(x, y, z); }
WW_FUNCTION float off(double exact) { return ww_f32_of_bits(ww_bits_of_f32((float)exact) + units_off); }
WW_FUNCTION float ww_reciprocal(float x) { return off(1.0 / x); }
WW_FUNCTION float ww_reciprocal_root(float x) { return off(1.0 / std::sqrt((double)x)); }

#include "division.hpp"

static void expect(float found, float expected, float x, float y) {
  if ((found != found && expected != expected) || ww_bits_of_f32(found) == ww_bits_of_f32(expected)) return;
  if (++wrong <= 20) std::printf("%a, %a, %d units off: %a, not %a\n", x, y, units_off, found, expected);
}
static void quotient(float x, float y) { expect(ww_divide(x, y), x / y, x, y); }
static void root(float x) { expect(ww_sqrt(x), std::sqrt(x), x, x); }

int main() {
  float const special[] = {0.0f, 1.0f, 3.0f, INFINITY, NAN, 0x1p-149f, 0x1p-126f, 0x1.fffffcp-127f, 0x1.fffffep+127f};
  std::mt19937 random(1);
  auto bits = [&](ww_u32 mask, ww_u32 set) { return ww_f32_of_bits(((ww_u32)random() & mask) | set); };
  for (units_off = -2; units_off <= 2; ++units_off) {
    for (float x : special)
      for (float y : special)
        for (int signs = 0; signs < 4; ++signs) quotient(signs & 1 ? -x : x, signs & 2 ? -y : y);
    for (float x : special) root(x), root(-x);
    for (int i = 0; i < 1000000; ++i) {
      quotient(bits(0xffffffffu, 0u), bits(0xffffffffu, 0u));
      quotient(bits(0x07ffffffu, 0x38000000u), bits(0x07ffffffu, 0x3c000000u));
      // Few bits: quotients that lie in the middle between two subnormal numbers.
      quotient(bits(0x81ff0000u, 0u), bits(0x3fff0000u, 0x40000000u));
    }
    // All mantissas under both parities of the exponent.
    for (ww_u32 mantissa = 0; mantissa < 1u << 24; ++mantissa) root(ww_f32_of_bits(0x3f800000u + mantissa));
    for (int i = 0; i < 1000000; ++i) root(bits(0x7fffffffu, 0u));
  }
  return wrong == 0 ? 0 : 1;
}
