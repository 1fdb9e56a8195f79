// The prelude's host body: matrices that the lanes of a warp hold together, and sums as tensor cores compute them. All lanes of
// the warp take part. Products are exact; they and the earlier sum are aligned to the largest exponent among them, truncated,
// and added.

namespace ww_host {

// A generation of tensor cores: how many elements it sums at once, the fraction bits that aligned terms keep, and the exponent to
// which they are aligned at least.
struct tensor_core {
  ww_u32 elements;
  int fraction_bits, least_alignment;
};

constexpr tensor_core tensor_cores[2] = {{8, 24, -132}, {16, 25, -133}};

// The generation whose sums products have: compute capabilities 8.0 to 8.9, or 9.0 and above. The launch chooses.
inline ww_u64 generation = 1;

constexpr ww_u32 depth = 16;

// A factor or a product: significand * 2^(exponent - fraction bits) if it is finite. An infinity has the significand 1 or -1.
struct term {
  enum { finite, infinite, nan } kind;
  long long significand;
  int exponent;
};

// How the bits of a floating-point type are divided.
struct layout {
  int exponent_bits, fraction_bits;

  int least_exponent() const { return 2 - (1 << (exponent_bits - 1)); }

  term decode(ww_u32 bits) const {
    ww_u32 const special = (1u << exponent_bits) - 1u;
    ww_u32 const fraction = bits & ((1u << fraction_bits) - 1u), biased = bits >> fraction_bits & special;
    long long const sign = (bits >> (fraction_bits + exponent_bits) & 1u) != 0u ? -1 : 1;
    if (biased == special) return {fraction == 0u ? term::infinite : term::nan, sign, 0};
    ww_u32 const magnitude = biased == 0u ? fraction : fraction | 1u << fraction_bits;
    return {term::finite, sign * (long long)magnitude, least_exponent() + (biased == 0u ? 1 : (int)biased) - 1};
  }
};

constexpr layout single{8, 23};
constexpr ww_u32 infinity_bits = 0x7f800000u, nan_bits = 0x7fffffffu;

inline term product(term const& a, term const& b) {
  if (a.kind == term::nan || b.kind == term::nan) return {term::nan, 0, 0};
  if (a.kind == term::finite && b.kind == term::finite) {
    return {term::finite, a.significand * b.significand, a.exponent + b.exponent};
  }
  if (a.significand == 0 || b.significand == 0) return {term::nan, 0, 0};
  return {term::infinite, (a.significand < 0) != (b.significand < 0) ? -1 : 1, 0};
}

// A significand times a power of two, without what lies below one.
inline long long truncated(long long significand, int shift) {
  return shift >= 0 ? significand * (1ll << (shift < 32 ? shift : 32)) : significand / (1ll << (shift > -62 ? -shift : 62));
}

// The single value * 2^scale, rounded towards zero. Zero is positive.
inline ww_u32 encode(long long value, int scale) {
  ww_u64 const magnitude = value < 0 ? 0ull - (ww_u64)value : (ww_u64)value;
  if (magnitude == 0u) return 0u;
  int const leading = 63 - __builtin_clzll(magnitude), least = single.least_exponent();
  int const exponent = leading + scale < least ? least : leading + scale;
  int const dropped = exponent - single.fraction_bits - scale;
  ww_u64 const units = dropped <= 0 ? magnitude << -dropped : dropped < 64 ? magnitude >> dropped : 0u;
  ww_u64 const found = ((ww_u64)(exponent - least) << single.fraction_bits) + units;
  ww_u32 const bits = found < infinity_bits ? (ww_u32)found : infinity_bits;
  return bits == 0u ? 0u : bits | (value < 0 ? 0x80000000u : 0u);
}

// The sum of `old` and of `count` products of factors of type `factors`.
inline ww_u32 fused_sum(
    tensor_core const& core, layout const& factors, term const* left, term const* right, ww_u32 count, ww_u32 old) {
  term terms[depth + 1];
  for (ww_u32 at = 0; at < count; ++at) terms[at] = product(left[at], right[at]);
  terms[count] = single.decode(old);
  bool negative = false, positive = false;
  int alignment = core.least_alignment;
  for (ww_u32 at = 0; at <= count; ++at) {
    term const& next = terms[at];
    if (next.kind == term::nan) return nan_bits;
    if (next.kind == term::infinite) (next.significand < 0 ? negative : positive) = true;
    if (next.kind == term::finite && next.significand != 0 && next.exponent > alignment) alignment = next.exponent;
  }
  if (negative && positive) return nan_bits;
  if (negative || positive) return infinity_bits | (negative ? 0x80000000u : 0u);
  long long sum = 0;
  for (ww_u32 at = 0; at <= count; ++at) {
    int const fraction_bits = at < count ? 2 * factors.fraction_bits : single.fraction_bits;
    sum += truncated(terms[at].significand, core.fraction_bits - fraction_bits + terms[at].exponent - alignment);
  }
  return encode(sum, alignment - core.fraction_bits);
}

// The sum of `old` and of the products of a row and a column. What a generation does not sum at once is summed in parts.
inline ww_u32 dot(layout const& factors, term const* left, term const* right, ww_u32 old) {
  tensor_core const& core = tensor_cores[generation];
  for (ww_u32 first = 0; first < depth; first += core.elements) {
    old = fused_sum(core, factors, left + first, right + first, core.elements, old);
  }
  return old;
}

// The row of a factor, or the column, that group `group` of four lanes holds in halves of two words each: the first 8 elements in
// word `word` of `lower`, the others in that of `upper`.
inline void gather(
    layout const& factors, ww_u64 const* lower, ww_u64 const* upper, ww_u32 group, ww_u32 lower_word, ww_u32 upper_word,
    term* to) {
  for (ww_u32 member = 0; member < 4; ++member) {
    ww_u32 const first = (ww_u32)(lower[4 * group + member] >> 32 * lower_word);
    ww_u32 const second = (ww_u32)(upper[4 * group + member] >> 32 * upper_word);
    to[2 * member] = factors.decode(first & 0xffffu), to[2 * member + 1] = factors.decode(first >> 16);
    to[8 + 2 * member] = factors.decode(second & 0xffffu), to[8 + 2 * member + 1] = factors.decode(second >> 16);
  }
}

inline ww_u64 pair(ww_u32 first, ww_u32 second) { return (ww_u64)second << 32 | first; }

// The sums of a lane are at rows `group` and `group + 8`, columns `2 * member` and `2 * member + 1`.
inline void multiply_matrices(layout const& factors, float* to, ww_u32 const (&a)[4], ww_u32 const (&b)[2], float const (&c)[4]) {
  ww_u32 const lane = current_fiber->thread % lanes, group = lane / 4, member = lane % 4;
  term rows[2][depth], columns[2][depth];
  ww_u64 lower[lanes], upper[lanes];
  std::memcpy(lower, offer(pair(a[0], a[1])), sizeof lower);
  std::memcpy(upper, offer(pair(a[2], a[3])), sizeof upper);
  ww_u64 const* const right = offer(pair(b[0], b[1]));
  for (ww_u32 half = 0; half < 2; ++half) {
    gather(factors, lower, upper, group, half, half, rows[half]);
    gather(factors, right, right, 2 * member + half, 0, 1, columns[half]);
  }
  for (ww_u32 at = 0; at < 4; ++at) {
    to[at] = ww_f32_of_bits(dot(factors, rows[at / 2], columns[at % 2], ww_bits_of_f32(c[at])));
  }
}

template <class T> static unsigned short code_of(T const& element) { return element.code; }
inline unsigned short code_of(unsigned short element) { return element; }

// Lane 8m + r names row r of matrix m; each lane takes two neighbours of a row, or of a column.
template <ww_u32 count, bool transposed, class T>
static void load_matrices(ww_u32* to, T const* array, int index) {
  ww_u32 const lane = current_fiber->thread % lanes, major = lane / 4, minor = lane % 4 * 2;
  if (lane < 8 * count) ww_check_shared(array, index, sizeof(T), 8);
  ww_u64 const* const rows = offer((ww_u64)(uintptr_t)(array + index));
  for (ww_u32 matrix = 0; matrix < count; ++matrix) {
    ww_u32 word = 0;
    for (ww_u32 part = 0; part < 2; ++part) {
      ww_u32 const row = transposed ? minor + part : major, column = transposed ? major : minor + part;
      word |= (ww_u32)code_of(((T const*)(uintptr_t)rows[8 * matrix + row])[column]) << 16 * part;
    }
    to[matrix] = word;
  }
}

}  // namespace ww_host

#define WW_DEFINE_MATRIX_LOAD(count, name, type)                                                                       \
  WW_FUNCTION void ww_load_matrices##count##_##name(ww_u32* to, type const* array, int index) {                        \
    ww_host::load_matrices<count, false>(to, array, index);                                                            \
  }                                                                                                                    \
  WW_FUNCTION void ww_load_matrices##count##_transposed_##name(ww_u32* to, type const* array, int index) {             \
    ww_host::load_matrices<count, true>(to, array, index);                                                             \
  }

#define WW_DEFINE_MATRICES(name, exponent_bits, fraction_bits)                                                         \
  WW_DEFINE_MATRIX_LOAD(1, name, ww_##name)                                                                            \
  WW_DEFINE_MATRIX_LOAD(2, name, ww_##name)                                                                            \
  WW_DEFINE_MATRIX_LOAD(4, name, ww_##name)                                                                            \
  WW_FUNCTION void ww_multiply_matrices_##name(float* to, ww_u32 a, ww_u32 b, ww_u32 c, ww_u32 d, ww_u32 e, ww_u32 f,  \
                                               float p, float q, float r, float s) {                                   \
    ww_host::multiply_matrices({exponent_bits, fraction_bits}, to, {a, b, c, d}, {e, f}, {p, q, r, s});                \
  }

WW_DEFINE_MATRICES(f16, 5, 10)
WW_DEFINE_MATRICES(bf16, 8, 7)
WW_DEFINE_MATRIX_LOAD(1, u16, unsigned short)
WW_DEFINE_MATRIX_LOAD(2, u16, unsigned short)
WW_DEFINE_MATRIX_LOAD(4, u16, unsigned short)
