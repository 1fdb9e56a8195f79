// The prelude's device body: floating point of 16 bits. Memory holds codes and registers hold singles, so every load and every store
// converts. Pairs are converted together, and up to eight elements are one access of 16 bytes.

struct ww_f16 {
  unsigned short code;
};
struct ww_bf16 {
  unsigned short code;
};

WW_FUNCTION float ww_single_of_f16(unsigned short code) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
  return value;
}
WW_FUNCTION float ww_single_of_bf16(unsigned short code) { return __uint_as_float((ww_u32)code << 16); }
WW_FUNCTION unsigned short ww_code_of_f16(float value) {
  unsigned short code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return code;
}
WW_FUNCTION unsigned short ww_code_of_bf16(float value) {
  unsigned short code;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return code;
}
WW_FUNCTION float ww_of_f16(ww_u32 code) { return ww_single_of_f16((unsigned short)code); }
WW_FUNCTION float ww_to_f16(float value) { return ww_single_of_f16(ww_code_of_f16(value)); }
WW_FUNCTION float ww_to_bf16(float value) { return ww_single_of_bf16(ww_code_of_bf16(value)); }

// The first element lies in the lower half of a word.
WW_FUNCTION void ww_singles_of_f16(float* to, ww_u32 pair) {
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
      : "=f"(to[0]), "=f"(to[1]) : "r"(pair));
}
WW_FUNCTION void ww_singles_of_bf16(float* to, ww_u32 pair) {
  to[0] = __uint_as_float(pair << 16), to[1] = __uint_as_float(pair & 0xffff0000u);
}
WW_FUNCTION ww_u32 ww_pair_of_f16(float first, float second) {
  ww_u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
WW_FUNCTION ww_u32 ww_pair_of_bf16(float first, float second) {
  ww_u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// The arena and the weights are loaded as codes, and as words where several are.
#define WW_DEFINE_HALF_LOADS(space, name)                                                                              \
  WW_FUNCTION float ww_##space##_load_##name(ww_buffers const& buffers, ww_u64 index) {                                \
    return ww_single_of_##name((unsigned short)ww_##space##_load_u16(buffers, index));                                 \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load2_##name(float* to, ww_buffers const& buffers, ww_u64 index) {                     \
    ww_singles_of_##name(to, ww_##space##_load_i32(buffers, index / 2));                                               \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load4_##name(float* to, ww_buffers const& buffers, ww_u64 index) {                     \
    ww_u32 pairs[2];                                                                                                   \
    ww_##space##_load2_i32(pairs, buffers, index / 2);                                                                 \
    ww_singles_of_##name(to, pairs[0]), ww_singles_of_##name(to + 2, pairs[1]);                                        \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load8_##name(float* to, ww_buffers const& buffers, ww_u64 index) {                     \
    ww_u32 pairs[4];                                                                                                   \
    ww_##space##_load4_i32(pairs, buffers, index / 2);                                                                 \
    ww_singles_of_##name(to, pairs[0]), ww_singles_of_##name(to + 2, pairs[1]);                                        \
    ww_singles_of_##name(to + 4, pairs[2]), ww_singles_of_##name(to + 6, pairs[3]);                                    \
  }

#define WW_DEFINE_HALF(name)                                                                                           \
  WW_DEFINE_HALF_LOADS(arena, name)                                                                                    \
  WW_DEFINE_HALF_LOADS(weights, name)                                                                                  \
  WW_FUNCTION void ww_arena_store_##name(ww_buffers const& buffers, ww_u64 index, float value) {                       \
    ww_arena_store_u16(buffers, index, ww_code_of_##name(value));                                                      \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store2_##name(ww_buffers const& buffers, ww_u64 index, float a, float b) {                 \
    ww_arena_store_i32(buffers, index / 2, ww_pair_of_##name(a, b));                                                   \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store4_##name(                                                                             \
      ww_buffers const& buffers, ww_u64 index, float a, float b, float c, float d) {                                   \
    ww_arena_store2_i32(buffers, index / 2, ww_pair_of_##name(a, b), ww_pair_of_##name(c, d));                         \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store8_##name(ww_buffers const& buffers, ww_u64 index, float a, float b, float c, float d, \
                                          float e, float f, float g, float h) {                                        \
    ww_arena_store4_i32(buffers, index / 2, ww_pair_of_##name(a, b), ww_pair_of_##name(c, d), ww_pair_of_##name(e, f), \
                        ww_pair_of_##name(g, h));                                                                      \
  }                                                                                                                    \
  WW_FUNCTION float ww_shared_load_##name(ww_##name const* array, int index) {                                         \
    return ww_single_of_##name(array[index].code);                                                                     \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load2_##name(float* to, ww_##name const* array, int index) {                              \
    ww_singles_of_##name(to, *(ww_u32 const*)(array + index));                                                         \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load4_##name(float* to, ww_##name const* array, int index) {                              \
    uint2 const pairs = *(uint2 const*)(array + index);                                                                \
    ww_singles_of_##name(to, pairs.x), ww_singles_of_##name(to + 2, pairs.y);                                          \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load8_##name(float* to, ww_##name const* array, int index) {                              \
    uint4 const pairs = *(uint4 const*)(array + index);                                                                \
    ww_singles_of_##name(to, pairs.x), ww_singles_of_##name(to + 2, pairs.y);                                          \
    ww_singles_of_##name(to + 4, pairs.z), ww_singles_of_##name(to + 6, pairs.w);                                      \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store_##name(ww_##name* array, int index, float value) {                                  \
    array[index].code = ww_code_of_##name(value);                                                                      \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store2_##name(ww_##name* array, int index, float a, float b) {                            \
    *(ww_u32*)(array + index) = ww_pair_of_##name(a, b);                                                               \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store4_##name(ww_##name* array, int index, float a, float b, float c, float d) {          \
    *(uint2*)(array + index) = {ww_pair_of_##name(a, b), ww_pair_of_##name(c, d)};                                     \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store8_##name(ww_##name* array, int index, float a, float b, float c, float d, float e,   \
                                           float f, float g, float h) {                                                \
    *(uint4*)(array + index) = {ww_pair_of_##name(a, b), ww_pair_of_##name(c, d), ww_pair_of_##name(e, f),             \
                                ww_pair_of_##name(g, h)};                                                              \
  }

WW_DEFINE_HALF(f16)
WW_DEFINE_HALF(bf16)

// Codes as they are: eight are four words.
WW_FUNCTION void ww_codes_of_words(ww_u32* to, ww_u32 const* words) {
#pragma unroll
  for (int word = 0; word < 4; ++word) to[2 * word] = words[word] & 0xffffu, to[2 * word + 1] = words[word] >> 16;
}
WW_FUNCTION ww_u32 ww_word_of_codes(ww_u32 first, ww_u32 second) { return (first & 0xffffu) | second << 16; }
#define WW_DEFINE_CODE_LOADS(space)                                                                                    \
  WW_FUNCTION void ww_##space##_load8_u16(ww_u32* to, ww_buffers const& buffers, ww_u64 index) {                       \
    ww_u32 words[4];                                                                                                   \
    ww_##space##_load4_i32(words, buffers, index / 2);                                                                 \
    ww_codes_of_words(to, words);                                                                                      \
  }
WW_DEFINE_CODE_LOADS(arena)
WW_DEFINE_CODE_LOADS(weights)
WW_FUNCTION void ww_arena_store8_u16(ww_buffers const& buffers, ww_u64 index, ww_u32 a, ww_u32 b, ww_u32 c, ww_u32 d,
                                     ww_u32 e, ww_u32 f, ww_u32 g, ww_u32 h) {
  ww_arena_store4_i32(buffers, index / 2, ww_word_of_codes(a, b), ww_word_of_codes(c, d), ww_word_of_codes(e, f),
                      ww_word_of_codes(g, h));
}
WW_FUNCTION void ww_shared_load8_u16(ww_u32* to, unsigned short const* array, int index) {
  uint4 const words = *(uint4 const*)(array + index);
  ww_u32 const each[4] = {words.x, words.y, words.z, words.w};
  ww_codes_of_words(to, each);
}
WW_FUNCTION void ww_shared_store8_u16(unsigned short* array, int index, ww_u32 a, ww_u32 b, ww_u32 c, ww_u32 d,
                                      ww_u32 e, ww_u32 f, ww_u32 g, ww_u32 h) {
  *(uint4*)(array + index) = {ww_word_of_codes(a, b), ww_word_of_codes(c, d), ww_word_of_codes(e, f),
                              ww_word_of_codes(g, h)};
}
