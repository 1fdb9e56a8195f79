// The prelude's host body: floating point of 16 bits. Memory holds codes and registers hold singles. Conversions round to nearest,
// ties to even; what is no number has one code.

constexpr unsigned short ww_nan_code = 0x7fffu;

struct ww_f16 {
  unsigned short code;

  ww_f16() = default;
  explicit ww_f16(float value) {
    ww_u32 const bits = ww_bits_of_f32(value), magnitude = bits & 0x7fffffffu;
    ww_u32 found;
    if (magnitude > 0x7f800000u) {
      code = ww_nan_code;
      return;
    }
    if (magnitude >= 0x477ff000u) {
      found = 0x7c00u;
    } else if (magnitude < 0x38800000u) {
      // The sum has the code in its lowest bits, rounded as sums are.
      found = ww_bits_of_f32(ww_f32_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    } else {
      found = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    }
    code = (unsigned short)(found | bits >> 16 & 0x8000u);
  }
  explicit operator float() const {
    ww_u32 const sign = (ww_u32)(code & 0x8000u) << 16, magnitude = code & 0x7fffu;
    if (magnitude > 0x7c00u) return ww_f32_of_bits(0x7fffffffu);
    if (magnitude == 0x7c00u) return ww_f32_of_bits(sign | 0x7f800000u);
    // A single of the same bits is too small by a power of two.
    float const value = ww_f32_of_bits(magnitude << 13) * ww_f32_of_bits(0x77800000u);
    return ww_f32_of_bits(ww_bits_of_f32(value) | sign);
  }
};

struct ww_bf16 {
  unsigned short code;

  ww_bf16() = default;
  explicit ww_bf16(float value) {
    ww_u32 const bits = ww_bits_of_f32(value);
    bool const is_number = (bits & 0x7fffffffu) <= 0x7f800000u;
    code = is_number ? (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16) : ww_nan_code;
  }
  explicit operator float() const { return ww_f32_of_bits((ww_u32)code << 16); }
};

WW_FUNCTION float ww_of_f16(ww_u32 code) {
  ww_f16 half;
  half.code = (unsigned short)code;
  return (float)half;
}
WW_FUNCTION float ww_to_f16(float value) { return (float)ww_f16(value); }
WW_FUNCTION float ww_to_bf16(float value) { return (float)ww_bf16(value); }

WW_DEFINE_ACCESS(f16, float, ww_f16)
WW_DEFINE_ACCESS(bf16, float, ww_bf16)

#define WW_DEFINE_EIGHT(name, type, memory)                                                                            \
  WW_DEFINE_LOAD_OF_EIGHT(arena, name, type, memory)                                                                   \
  WW_DEFINE_LOAD_OF_EIGHT(weights, name, type, memory)                                                                 \
  WW_FUNCTION void ww_arena_store8_##name(ww_buffers const& buffers, ww_u64 index, type a, type b, type c, type d,     \
                                          type e, type f, type g, type h) {                                            \
    ww_host::arena.at("the arena", index, sizeof(memory), 8);                                                          \
    ww_arena_store4_##name(buffers, index, a, b, c, d), ww_arena_store4_##name(buffers, index + 4, e, f, g, h);        \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load8_##name(type* to, memory const* array, int index) {                                  \
    ww_check_shared(array, index, sizeof(memory), 8);                                                                  \
    ww_shared_load4_##name(to, array, index), ww_shared_load4_##name(to + 4, array, index + 4);                        \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store8_##name(memory* array, int index, type a, type b, type c, type d, type e, type f,   \
                                           type g, type h) {                                                           \
    ww_check_shared(array, index, sizeof(memory), 8);                                                                  \
    ww_shared_store4_##name(array, index, a, b, c, d), ww_shared_store4_##name(array, index + 4, e, f, g, h);          \
  }

#define WW_DEFINE_LOAD_OF_EIGHT(space, name, type, memory)                                                             \
  WW_FUNCTION void ww_##space##_load8_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                      \
    ww_host::space.at("the " #space, index, sizeof(memory), 8);                                                        \
    ww_##space##_load4_##name(to, buffers, index), ww_##space##_load4_##name(to + 4, buffers, index + 4);              \
  }

WW_DEFINE_EIGHT(f16, float, ww_f16)
WW_DEFINE_EIGHT(bf16, float, ww_bf16)
WW_DEFINE_EIGHT(u16, ww_u32, unsigned short)
