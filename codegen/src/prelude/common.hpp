// What both bodies of the prelude share: the launch arguments and integer arithmetic.
// Integer registers are unsigned because arithmetic wraps; signed meaning is spelt out here where it differs.

#if defined(__CUDACC__)
// No program calls every primitive, and a printed variable may be written and never read.
#pragma nv_diag_suppress 177, 550
#define WW_FUNCTION static __device__ __forceinline__
// Kernels are called: a compiler's time grows faster than the length of what it is given at once. They take values only,
// since what is passed by reference needs an address and therefore local memory.
#if defined(WW_NODES)
// Kernels that are nodes: each stands beside the only entry that calls it.
#define WW_KERNEL static __device__ __forceinline__
#elif defined(WW_LINKED)
// A kernel of a unit that is linked. Calls between units follow a convention: what a callee must keep for its caller is
// little, so that a kernel has registers enough without any of them, and the entry needs no more.
#define WW_CONVENTION _Pragma("nv_abi preserve_n_data(16)")
#define WW_KERNEL WW_CONVENTION extern "C" __device__ __noinline__
#else
#define WW_KERNEL static __device__ __noinline__
#endif
#else
#define WW_FUNCTION static inline
#define WW_KERNEL static
#endif

using ww_u32 = unsigned;
using ww_u64 = unsigned long long;

// What kernels read and write, in global memory and aligned to 256 bytes.
struct ww_buffers {
  unsigned char* arena;
  unsigned char const* weights;
};

// Passed by value to the entry. All pointers are to global memory, aligned to 256 bytes.
struct ww_arguments {
  ww_buffers buffers;
  int const* stream_start;
  int const* instructions;
  int const* operands;
  int* control;
  int* counters;
  int* status;
  ww_u64 time_limit_ns;
};

// Passed by value to the entry of a kernel as a node.
struct ww_node_arguments {
  ww_buffers buffers;
  int const* operands;
  ww_u32 first_operand;
  int* status;
};

// What kernels need to wait, and to exchange values that carry their own validity: eight bytes each, a single and a tag.
struct ww_exchange {
  int* control;
  int* status;
  ww_u64 time_limit_ns;
  ww_u32 epoch;
};

// What lasts for a launch, in shared memory for every kernel that is called.
struct alignas(16) ww_launch {
  unsigned char* arena;
  unsigned char const* weights;
  int* control;
  int* status;
  ww_u64 time_limit_ns;
  ww_u32 epoch;
  int* counters;
  int const* instructions;
  int const* operands;
};
static_assert(sizeof(ww_launch) == 80, "the entry's shared memory begins with it");

// Where words are that the entry has fetched: an address in shared memory.
#if defined(__CUDACC__)
using ww_fetched = ww_u32;
#else
using ww_fetched = ww_u32 const*;
#endif

// The waits that a kernel does itself: `count` instructions from number `first` on, which lie in a ring.
struct ww_own_waits {
  int* counters;
  ww_fetched ring;
  ww_u32 first, count;
  // The tables, of which a kernel that runs several tasks reads more than the ring holds.
  int const* instructions;
  int const* operands;
};
constexpr ww_u32 ww_ring_instructions = 64;

// Where a kernel stands that is called for several tasks: the next of its own instructions, and the table of operands.
struct ww_steps {
  int const* operands;
  ww_u32 done;
  // The next instruction, which is the call's own if fewer than all of these are done: its opcode and the word behind it.
  ww_u32 opcode, word;
};

// Words from one counter to the next: a 128-byte line each.
constexpr ww_u32 ww_counter_stride = 32;
constexpr ww_u32 ww_control_words = 32;
// [claimed, block, position, counter, seen, wanted], claimed by a wait; [claimed, block, element, -, seen, wanted] by a
// poll.
constexpr ww_u32 ww_status_words = 8;

// Words of ww_arguments::control.
enum ww_control_word : ww_u32 { ww_epoch = 0, ww_left = 1, ww_abort = 2 };

// Values of `claimed`.
enum ww_claim : ww_u32 { ww_by_wait = 1, ww_by_poll = 2 };

WW_FUNCTION ww_u64 ww_extend(ww_u32 value) { return (ww_u64)(long long)(int)value; }

// The opcodes that a kernel finds among its own instructions.
constexpr int ww_signal_opcode = 2, ww_run_opcode = 3;

// The first word, from the ring's begin on, of one of those waits.
WW_FUNCTION ww_u32 ww_ring_word(ww_u32 position) { return 4 * (position % ww_ring_instructions); }

// A tag of the launch: the bits of a signalling NaN, which no arithmetic delivers.
constexpr ww_u32 ww_tags = 65536;
constexpr ww_u32 ww_tag_bits = 0xffa00000u;
WW_FUNCTION ww_u32 ww_mark_of(ww_exchange const& exchange, ww_u32 tag) {
  return ww_tag_bits | ((exchange.epoch * ww_tags + tag) & 0x001fffffu);
}

WW_FUNCTION bool ww_reached(ww_u32 seen, ww_u32 target) { return (int)(seen - target) >= 0; }

// A division by zero gives 0; the quotient of the least integer by -1 wraps.
WW_FUNCTION ww_u32 ww_divide(ww_u32 x, ww_u32 y) {
  return y == 0u ? 0u : y == -1u ? -x : (ww_u32)((int)x / (int)y);
}
WW_FUNCTION ww_u64 ww_divide(ww_u64 x, ww_u64 y) {
  return y == 0u ? 0u : y == -1ull ? -x : (ww_u64)((long long)x / (long long)y);
}

// The remainder of that division; by zero it is 0.
WW_FUNCTION ww_u32 ww_remainder(ww_u32 x, ww_u32 y) {
  return y == 0u || y == -1u ? 0u : (ww_u32)((int)x % (int)y);
}
WW_FUNCTION ww_u64 ww_remainder(ww_u64 x, ww_u64 y) {
  return y == 0u || y == -1ull ? 0u : (ww_u64)((long long)x % (long long)y);
}

WW_FUNCTION ww_u32 ww_minimum(ww_u32 x, ww_u32 y) { return (int)x < (int)y ? x : y; }
WW_FUNCTION ww_u64 ww_minimum(ww_u64 x, ww_u64 y) { return (long long)x < (long long)y ? x : y; }
WW_FUNCTION ww_u32 ww_maximum(ww_u32 x, ww_u32 y) { return (int)x < (int)y ? y : x; }
WW_FUNCTION ww_u64 ww_maximum(ww_u64 x, ww_u64 y) { return (long long)x < (long long)y ? y : x; }
WW_FUNCTION ww_u32 ww_absolute(ww_u32 x) { return (int)x < 0 ? -x : x; }
WW_FUNCTION ww_u64 ww_absolute(ww_u64 x) { return (long long)x < 0 ? -x : x; }

// Rounds down; 0 <= y < width.
WW_FUNCTION ww_u32 ww_shift_right(ww_u32 x, ww_u32 y) { return (ww_u32)((int)x >> y); }
WW_FUNCTION ww_u64 ww_shift_right(ww_u64 x, ww_u64 y) { return (ww_u64)((long long)x >> y); }

