// The prelude's device body: memory, synchronisation and exchange as inline PTX. Needs sm_80 or newer.
//
// Arena accesses name the global state space and are volatile with a memory clobber, so that no compiler moves one over
// a wait or a barrier, nor makes it non-coherent. Weights and tables never change during a launch: their loads are
// non-coherent and free to move.

WW_FUNCTION ww_u32 ww_thread() { return threadIdx.x; }
WW_FUNCTION ww_u32 ww_block() { return blockIdx.x; }
WW_FUNCTION ww_u32 ww_grid() { return gridDim.x; }

// Between the nodes of a graph, where the device knows dependent launches; elsewhere a node is not launched before the one
// before it has ended. The wait is for the end of all blocks of that node and for what they have stored.
WW_FUNCTION void ww_dependency_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
WW_FUNCTION void ww_dependent_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

WW_FUNCTION unsigned char* ww_shared_memory() {
  extern __shared__ __align__(16) unsigned char ww_dynamic_shared[];
  return ww_dynamic_shared;
}

// How constants are loaded. The gates on compiled code redefine it as a coherent load: then no non-coherent load may
// remain, or one of them read the arena.
#if defined(WW_COHERENT_CONSTANTS)
#define WW_CONSTANT_LOAD "ld.global."
#else
#define WW_CONSTANT_LOAD "ld.global.nc."
#endif

WW_FUNCTION ww_u32 ww_table(int const* table, ww_u32 index) {
  ww_u32 value;
  asm(WW_CONSTANT_LOAD "u32 %0, [%1];" : "=r"(value) : "l"(table + (int)index));
  return value;
}

// Four words from a multiple of four on, asked for here and not only where they are used.
WW_FUNCTION void ww_table4(int const* table, ww_u32 index, ww_u32& a, ww_u32& b, ww_u32& c, ww_u32& d) {
  asm volatile(WW_CONSTANT_LOAD "v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(table + (int)index));
}

// Loads and stores of `bytes`-byte elements that registers hold as `type`. `load` and `store` are PTX types.
#define WW_DEFINE_ACCESS(name, type, bytes, load, store, constraint)                                                   \
  WW_FUNCTION type ww_arena_load_##name(ww_buffers const& buffers, ww_u64 index) {                                     \
    type value;                                                                                                        \
    asm volatile("ld.global." load " %0, [%1];"                                                                        \
                 : "=" constraint(value) : "l"(buffers.arena + bytes * index) : "memory");                             \
    return value;                                                                                                      \
  }                                                                                                                    \
  WW_FUNCTION type ww_weights_load_##name(ww_buffers const& buffers, ww_u64 index) {                                   \
    type value;                                                                                                        \
    asm(WW_CONSTANT_LOAD load " %0, [%1];" : "=" constraint(value) : "l"(buffers.weights + bytes * index));            \
    return value;                                                                                                      \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store_##name(ww_buffers const& buffers, ww_u64 index, type value) {                        \
    asm volatile("st.global." store " [%0], %1;"                                                                       \
                 :: "l"(buffers.arena + bytes * index), constraint(value) : "memory");                                 \
  }

#define WW_DEFINE_ACCESS2(name, type, bytes, load, store, constraint)                                                  \
  WW_FUNCTION void ww_arena_load2_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                          \
    asm volatile("ld.global.v2." load " {%0, %1}, [%2];"                                                               \
                 : "=" constraint(to[0]), "=" constraint(to[1]) : "l"(buffers.arena + bytes * index) : "memory");      \
  }                                                                                                                    \
  WW_FUNCTION void ww_weights_load2_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                        \
    asm(WW_CONSTANT_LOAD "v2." load " {%0, %1}, [%2];"                                                                 \
        : "=" constraint(to[0]), "=" constraint(to[1]) : "l"(buffers.weights + bytes * index));                        \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store2_##name(ww_buffers const& buffers, ww_u64 index, type a, type b) {                   \
    asm volatile("st.global.v2." store " [%0], {%1, %2};"                                                              \
                 :: "l"(buffers.arena + bytes * index), constraint(a), constraint(b) : "memory");                      \
  }

#define WW_DEFINE_ACCESS4(name, type, bytes, load, store, constraint)                                                  \
  WW_FUNCTION void ww_arena_load4_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                          \
    asm volatile("ld.global.v4." load " {%0, %1, %2, %3}, [%4];"                                                       \
                 : "=" constraint(to[0]), "=" constraint(to[1]), "=" constraint(to[2]), "=" constraint(to[3])          \
                 : "l"(buffers.arena + bytes * index) : "memory");                                                     \
  }                                                                                                                    \
  WW_FUNCTION void ww_weights_load4_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                        \
    asm(WW_CONSTANT_LOAD "v4." load " {%0, %1, %2, %3}, [%4];"                                                         \
        : "=" constraint(to[0]), "=" constraint(to[1]), "=" constraint(to[2]), "=" constraint(to[3])                   \
        : "l"(buffers.weights + bytes * index));                                                                       \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store4_##name(                                                                             \
      ww_buffers const& buffers, ww_u64 index, type a, type b, type c, type d) {                                       \
    asm volatile("st.global.v4." store " [%0], {%1, %2, %3, %4};"                                                      \
                 :: "l"(buffers.arena + bytes * index),                                                                \
                 constraint(a), constraint(b), constraint(c), constraint(d) : "memory");                               \
  }

WW_DEFINE_ACCESS(f32, float, 4, "f32", "f32", "f")
WW_DEFINE_ACCESS2(f32, float, 4, "f32", "f32", "f")
WW_DEFINE_ACCESS4(f32, float, 4, "f32", "f32", "f")
WW_DEFINE_ACCESS(i32, ww_u32, 4, "u32", "u32", "r")
WW_DEFINE_ACCESS2(i32, ww_u32, 4, "u32", "u32", "r")
WW_DEFINE_ACCESS4(i32, ww_u32, 4, "u32", "u32", "r")
WW_DEFINE_ACCESS(i64, ww_u64, 8, "u64", "u64", "l")
WW_DEFINE_ACCESS2(i64, ww_u64, 8, "u64", "u64", "l")
WW_DEFINE_ACCESS(u32, ww_u64, 4, "u32", "u32", "l")
WW_DEFINE_ACCESS2(u32, ww_u64, 4, "u32", "u32", "l")
WW_DEFINE_ACCESS4(u32, ww_u64, 4, "u32", "u32", "l")
WW_DEFINE_ACCESS(u16, ww_u32, 2, "u16", "u16", "r")
WW_DEFINE_ACCESS2(u16, ww_u32, 2, "u16", "u16", "r")
WW_DEFINE_ACCESS4(u16, ww_u32, 2, "u16", "u16", "r")
WW_DEFINE_ACCESS(i16, ww_u32, 2, "s16", "u16", "r")
WW_DEFINE_ACCESS2(i16, ww_u32, 2, "s16", "u16", "r")
WW_DEFINE_ACCESS4(i16, ww_u32, 2, "s16", "u16", "r")
WW_DEFINE_ACCESS(u8, ww_u32, 1, "u8", "u8", "r")
WW_DEFINE_ACCESS2(u8, ww_u32, 1, "u8", "u8", "r")
WW_DEFINE_ACCESS4(u8, ww_u32, 1, "u8", "u8", "r")
WW_DEFINE_ACCESS(i8, ww_u32, 1, "s8", "u8", "r")
WW_DEFINE_ACCESS2(i8, ww_u32, 1, "s8", "u8", "r")
WW_DEFINE_ACCESS4(i8, ww_u32, 1, "s8", "u8", "r")

// Four 64-bit integers are two accesses of 16 bytes, the widest there is.
WW_FUNCTION void ww_arena_load4_i64(ww_u64* to, ww_buffers const& buffers, ww_u64 index) {
  ww_arena_load2_i64(to, buffers, index);
  ww_arena_load2_i64(to + 2, buffers, index + 2);
}
WW_FUNCTION void ww_weights_load4_i64(ww_u64* to, ww_buffers const& buffers, ww_u64 index) {
  ww_weights_load2_i64(to, buffers, index);
  ww_weights_load2_i64(to + 2, buffers, index + 2);
}
WW_FUNCTION void ww_arena_store4_i64(
    ww_buffers const& buffers, ww_u64 index, ww_u64 a, ww_u64 b, ww_u64 c, ww_u64 d) {
  ww_arena_store2_i64(buffers, index, a, b);
  ww_arena_store2_i64(buffers, index + 2, c, d);
}

// Truth values are bytes in memory.
#define WW_DEFINE_BOOL_LOADS(space)                                                                                    \
  WW_FUNCTION bool ww_##space##_load_bool(ww_buffers const& buffers, ww_u64 index) {                                   \
    return ww_##space##_load_u8(buffers, index) != 0u;                                                                 \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load2_bool(bool* to, ww_buffers const& buffers, ww_u64 index) {                        \
    ww_u32 bytes[2];                                                                                                   \
    ww_##space##_load2_u8(bytes, buffers, index);                                                                      \
    to[0] = bytes[0] != 0u, to[1] = bytes[1] != 0u;                                                                    \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load4_bool(bool* to, ww_buffers const& buffers, ww_u64 index) {                        \
    ww_u32 bytes[4];                                                                                                   \
    ww_##space##_load4_u8(bytes, buffers, index);                                                                      \
    to[0] = bytes[0] != 0u, to[1] = bytes[1] != 0u, to[2] = bytes[2] != 0u, to[3] = bytes[3] != 0u;                    \
  }
WW_DEFINE_BOOL_LOADS(arena)
WW_DEFINE_BOOL_LOADS(weights)
WW_FUNCTION void ww_arena_store_bool(ww_buffers const& buffers, ww_u64 index, bool value) {
  ww_arena_store_u8(buffers, index, value);
}
WW_FUNCTION void ww_arena_store2_bool(ww_buffers const& buffers, ww_u64 index, bool a, bool b) {
  ww_arena_store2_u8(buffers, index, a, b);
}
WW_FUNCTION void ww_arena_store4_bool(ww_buffers const& buffers, ww_u64 index, bool a, bool b, bool c, bool d) {
  ww_arena_store4_u8(buffers, index, a, b, c, d);
}

// Takes the maximum with a word of eight bytes; orders nothing else.
WW_FUNCTION void ww_arena_maximum(ww_buffers const& buffers, ww_u64 word, ww_u64 value) {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" :: "l"(buffers.arena + 8 * word), "l"(value) : "memory");
}

// Shared memory is accessed in plain C++: the compiler knows its address space and schedules around it. `memory` is the
// element's type, `vector2` and `vector4` its vector types.
#define WW_DEFINE_SHARED(name, type, memory, vector2, vector4)                                                         \
  WW_FUNCTION type ww_shared_load_##name(memory const* array, int index) { return (type)array[index]; }                \
  WW_FUNCTION void ww_shared_load2_##name(type* to, memory const* array, int index) {                                  \
    vector2 const value = *(vector2 const*)(array + index);                                                            \
    to[0] = (type)value.x, to[1] = (type)value.y;                                                                      \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load4_##name(type* to, memory const* array, int index) {                                  \
    vector4 const value = *(vector4 const*)(array + index);                                                            \
    to[0] = (type)value.x, to[1] = (type)value.y, to[2] = (type)value.z, to[3] = (type)value.w;                        \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store_##name(memory* array, int index, type value) { array[index] = (memory)value; }      \
  WW_FUNCTION void ww_shared_store2_##name(memory* array, int index, type a, type b) {                                 \
    *(vector2*)(array + index) = {(memory)a, (memory)b};                                                               \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store4_##name(memory* array, int index, type a, type b, type c, type d) {                 \
    *(vector4*)(array + index) = {(memory)a, (memory)b, (memory)c, (memory)d};                                         \
  }

// Copies of `bytes` = 4, 8 or 16 into shared memory that go on while the thread does. Where nothing exists it writes zeros and reads
// nothing, wherever the address lies. Those of 16 bytes bypass the first-level cache.
template <int bytes>
WW_FUNCTION void ww_async_copy(void* to, unsigned char const* from, bool exists) {
  ww_u32 const place = (ww_u32)__cvta_generic_to_shared(to);
  ww_u32 const found = exists;
  if (bytes == 16) {
    asm volatile("{.reg .pred p; setp.eq.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}"
                 :: "r"(place), "l"(from), "r"(found) : "memory");
  } else {
    asm volatile("{.reg .pred p; setp.eq.u32 p, %3, 0; cp.async.ca.shared.global [%0], [%1], %2, p;}"
                 :: "r"(place), "l"(from), "n"(bytes == 16 ? 8 : bytes), "r"(found) : "memory");
  }
}
template <int bytes, class T>
WW_FUNCTION void ww_async_copy_arena(T* to, ww_buffers const& buffers, ww_u64 index, bool exists) {
  ww_async_copy<bytes>(to, buffers.arena + sizeof(T) * index, exists);
}
template <int bytes, class T>
WW_FUNCTION void ww_async_copy_weights(T* to, ww_buffers const& buffers, ww_u64 index, bool exists) {
  ww_async_copy<bytes>(to, buffers.weights + sizeof(T) * index, exists);
}
WW_FUNCTION void ww_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
WW_FUNCTION void ww_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}

// Copies words of a plan table, from number `first` on, into shared memory, the threads sharing them; both places are aligned
// to 16 bytes. An address is one multiplication: the sum of the numbers is made before it.
template <int words, int threads>
WW_FUNCTION void ww_fetch(ww_u32* to, int const* table, ww_u32 first) {
#pragma unroll
  for (int start = 0; start < words; start += 4 * threads) {
    int const word = start + 4 * (int)ww_thread();
    ww_u32 const place = (ww_u32)__cvta_generic_to_shared(to + word);
    asm volatile("{.reg .pred p; setp.lt.s32 p, %2, %3; @p cp.async.cg.shared.global [%0], [%1], 16;}"
                 :: "r"(place), "l"(table + (int)(first + (ww_u32)word)), "r"(word), "n"(words) : "memory");
  }
}

// The address is made here and not before: nothing that is read at it moves over the barriers that stand before.
WW_FUNCTION ww_fetched ww_fetched_at(ww_u32 const* words) {
  ww_fetched place;
  asm volatile("mov.u32 %0, %1;" : "=r"(place) : "r"((ww_u32)__cvta_generic_to_shared(words)) : "memory");
  return place;
}
// A word of a fetched place, which is aligned to 16 bytes. Kernels take most of their words, so four are loaded at once; those at
// an index that is known when compiled share their loads.
WW_FUNCTION ww_u32 ww_fetched_word(ww_fetched words, ww_u32 index) {
  ww_u32 first, second, third, fourth;
  asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(first), "=r"(second), "=r"(third), "=r"(fourth) : "r"(words + 4u * (index & ~3u)));
  switch (index & 3u) {
    case 0u: return first;
    case 1u: return second;
    case 2u: return third;
    default: return fourth;
  }
}

struct __align__(16) ww_four_i64 {
  ww_u64 x, y, z, w;
};
WW_DEFINE_SHARED(f32, float, float, float2, float4)
WW_DEFINE_SHARED(i32, ww_u32, ww_u32, uint2, uint4)
WW_DEFINE_SHARED(i64, ww_u64, ww_u64, ulonglong2, ww_four_i64)
WW_DEFINE_SHARED(u32, ww_u64, ww_u32, uint2, uint4)
WW_DEFINE_SHARED(u16, ww_u32, unsigned short, ushort2, ushort4)
WW_DEFINE_SHARED(i16, ww_u32, short, short2, short4)
WW_DEFINE_SHARED(u8, ww_u32, unsigned char, uchar2, uchar4)
WW_DEFINE_SHARED(i8, ww_u32, signed char, char2, char4)
WW_DEFINE_SHARED(bool, bool, unsigned char, uchar2, uchar4)

WW_FUNCTION void ww_barrier() { __syncthreads(); }
WW_FUNCTION bool ww_barrier_or(bool condition) { return __syncthreads_or(condition) != 0; }
WW_FUNCTION void ww_warp_barrier() { __syncwarp(); }

// Every lane of the warp takes part.
template <class T> WW_FUNCTION T ww_shuffle_xor(T value, ww_u32 mask) {
  return (T)__shfl_xor_sync(0xffffffffu, value, (int)mask);
}
template <class T> WW_FUNCTION T ww_shuffle(T value, ww_u32 lane) {
  return (T)__shfl_sync(0xffffffffu, value, (int)lane);
}

// `who` has the session's control words: ww_arguments or ww_exchange.
template <class T> WW_FUNCTION ww_u32 ww_load_control(T const& who, ww_control_word word) {
  ww_u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(who.control + word) : "memory");
  return value;
}
template <class T> WW_FUNCTION void ww_store_control(T const& who, ww_control_word word, ww_u32 value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(who.control + word), "r"(value) : "memory");
}
WW_FUNCTION ww_u32 ww_add_control(ww_arguments const& arguments, ww_control_word word, ww_u32 value) {
  ww_u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before) : "l"(arguments.control + word), "r"(value) : "memory");
  return before;
}

template <bool release> WW_FUNCTION void ww_signal(int* counters, ww_u32 counter) {
  int* const word = counters + (ww_u64)counter * ww_counter_stride;
  if (release) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(word) : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(word) : "memory");
  }
}
WW_FUNCTION void ww_signal_release(ww_arguments const& arguments, ww_u32 counter) {
  ww_signal<true>(arguments.counters, counter);
}
WW_FUNCTION void ww_signal_relaxed(ww_arguments const& arguments, ww_u32 counter) {
  ww_signal<false>(arguments.counters, counter);
}

WW_FUNCTION ww_u32 ww_load_acquire(int const* word) {
  ww_u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
WW_FUNCTION ww_u32 ww_load_relaxed(int const* word) {
  ww_u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
WW_FUNCTION ww_u32 ww_multiprocessor() {
  ww_u32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
WW_FUNCTION ww_u32 ww_cycles() {
  ww_u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
  return cycles;
}
WW_FUNCTION ww_u64 ww_time_ns() {
  ww_u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Writes the first time-out of the session to the status buffer and makes every block leave at its next wait.
template <class T> WW_FUNCTION void ww_time_out(
    T const& arguments, ww_claim claim, ww_u32 position, ww_u32 counter, ww_u32 seen, ww_u32 target) {
  ww_u32 claimed;
  asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], 0, %2;"
               : "=r"(claimed) : "l"(arguments.status), "r"((ww_u32)claim) : "memory");
  if (claimed == 0u) {
    asm volatile("st.global.u32 [%0 + 4], %1;" :: "l"(arguments.status), "r"(ww_block()) : "memory");
    asm volatile("st.global.u32 [%0 + 8], %1;" :: "l"(arguments.status), "r"(position) : "memory");
    asm volatile("st.global.u32 [%0 + 12], %1;" :: "l"(arguments.status), "r"(counter) : "memory");
    asm volatile("st.global.u32 [%0 + 16], %1;" :: "l"(arguments.status), "r"(seen) : "memory");
    asm volatile("st.global.u32 [%0 + 20], %1;" :: "l"(arguments.status), "r"(target) : "memory");
  }
  ww_store_control(arguments, ww_abort, 1u);
}

// Whether a segment before this one was aborted, of whose results nothing must be read. The whole block learns the same.
WW_FUNCTION bool ww_was_aborted(int const* status) {
  return ww_barrier_or(ww_thread() == 0u && ww_load_relaxed(status) != 0u);
}

// The same of a node: no block waits meanwhile, so that every thread reads what no longer changes, and tests it later.
WW_FUNCTION ww_u32 ww_abort_before(int const* status) { return ww_load_relaxed(status); }

// Polls until the counter reaches the target; false after time_limit_ns of this wait, or when abort is raised. The
// clock and the abort word are read at every 64th poll.
template <bool acquire, class T>
WW_FUNCTION bool ww_wait(T const& who, int const* counters, ww_u32 counter, ww_u32 target, ww_u32 position) {
  int const* const word = counters + (ww_u64)counter * ww_counter_stride;
  ww_u64 start = 0;
  for (ww_u32 poll = 0;; ++poll) {
    ww_u32 const seen = acquire ? ww_load_acquire(word) : ww_load_relaxed(word);
    if (ww_reached(seen, target)) return true;
    if (poll % 64u != 63u) continue;
    if (ww_load_control(who, ww_abort) != 0u) return false;
    ww_u64 const now = ww_time_ns();
    if (poll == 63u) start = now;
    if (now - start > who.time_limit_ns) {
      ww_time_out(who, ww_by_wait, position, counter, seen, target);
      return false;
    }
  }
}
WW_FUNCTION bool ww_wait_acquire(ww_arguments const& arguments, ww_u32 counter, ww_u32 target, ww_u32 position) {
  return ww_wait<true>(arguments, arguments.counters, counter, target, position);
}
WW_FUNCTION bool ww_wait_relaxed(ww_arguments const& arguments, ww_u32 counter, ww_u32 target, ww_u32 position) {
  return ww_wait<false>(arguments, arguments.counters, counter, target, position);
}

// A field of a kept launch. Each is loaded by itself, where it is used: most kernels need few.
template <class T> WW_FUNCTION T ww_kept(ww_fetched launch, T ww_launch::* field) {
  ww_launch const* const any = (ww_launch const*)sizeof(ww_launch);
  ww_u32 const byte = (ww_u32)((ww_u64)&(any->*field) - sizeof(ww_launch));
  if constexpr (sizeof(T) == 4) {
    ww_u32 word;
    asm("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(launch + byte));
    return (T)word;
  } else {
    ww_u64 word;
    asm("ld.shared.u64 %0, [%1];" : "=l"(word) : "r"(launch + byte));
    return (T)word;
  }
}

// Asks for what the array is to hold here, and not only where it is used. Does not wait for it.
template <int count> WW_FUNCTION void ww_hold(float (&values)[count]) {
#pragma unroll
  for (int at = 0; at < count; ++at) asm volatile("" : "+f"(values[at]));
}

template <int count> WW_FUNCTION void ww_hold(ww_u32 (&values)[count]) {
#pragma unroll
  for (int at = 0; at < count; ++at) asm volatile("" : "+r"(values[at]));
}

// The waits of a kernel: thread 0 polls, then the block meets. Whether one of them gave up; copies have then ended.
template <bool acquire>
WW_FUNCTION bool ww_await(ww_exchange const& exchange, ww_own_waits const& waits) {
  if (waits.count == 0u) return false;
  bool reached = true;
  if (ww_thread() == 0u) {
    for (ww_u32 number = 0; reached && number < waits.count; ++number) {
      ww_u32 const position = waits.first + number;
      ww_u32 const word = ww_ring_word(position);
      ww_u32 const arrivals = ww_fetched_word(waits.ring, word + 2u), signals = ww_fetched_word(waits.ring, word + 3u);
      ww_u32 const counter = ww_fetched_word(waits.ring, word + 1u), target = (exchange.epoch - 1u) * arrivals + signals;
      reached = ww_wait<acquire>(exchange, waits.counters, counter, target, position);
    }
  }
  if (!ww_barrier_or(!reached)) return false;
  asm volatile("cp.async.wait_all;" ::: "memory");
  return true;
}
WW_FUNCTION bool ww_await_acquire(ww_exchange const& exchange, ww_own_waits const& waits) {
  return ww_await<true>(exchange, waits);
}
WW_FUNCTION bool ww_await_relaxed(ww_exchange const& exchange, ww_own_waits const& waits) {
  return ww_await<false>(exchange, waits);
}

// The rTasks of a call. An instruction behind the first says where the operands of its rTask begin in their table.
WW_FUNCTION ww_steps ww_steps_of(ww_own_waits const& waits) { return {waits.operands, 0u, 0u, 0u}; }

// Asks for the next instruction; every stream ends with one.
WW_FUNCTION void ww_look_ahead(ww_steps& steps, ww_own_waits const& waits) {
  int const* const words = waits.instructions + 4 * (ww_u64)(waits.first + steps.done);
  asm volatile(WW_CONSTANT_LOAD "v2.u32 {%0, %1}, [%2];" : "=r"(steps.opcode), "=r"(steps.word) : "l"(words));
}

// Gives the signals up to the next rTask, behind a barrier, and finds its operands; whether there is one.
template <bool release>
WW_FUNCTION bool ww_next_step(
    ww_exchange const&, ww_own_waits const& waits, ww_steps& steps, int const*& operands) {
  if (steps.done >= waits.count) return false;
  if ((int)steps.opcode < ww_run_opcode) {
    ww_barrier();
    do {
      ++steps.done;
      if (steps.opcode == ww_signal_opcode && ww_thread() == 0u) ww_signal<release>(waits.counters, steps.word);
      ww_look_ahead(steps, waits);
    } while (steps.done < waits.count && (int)steps.opcode < ww_run_opcode);
    if (steps.done >= waits.count) return false;
  }
  ++steps.done;
  operands = steps.operands + (int)steps.word;
  return true;
}
WW_FUNCTION bool ww_next_step_release(
    ww_exchange const& exchange, ww_own_waits const& waits, ww_steps& steps, int const*& operands) {
  return ww_next_step<true>(exchange, waits, steps, operands);
}
WW_FUNCTION bool ww_next_step_relaxed(
    ww_exchange const& exchange, ww_own_waits const& waits, ww_steps& steps, int const*& operands) {
  return ww_next_step<false>(exchange, waits, steps, operands);
}

// The operands of the next rTask: it is the next instruction's, or that of the one behind a signal.
WW_FUNCTION int const* ww_next_operands(ww_steps const& steps, ww_own_waits const& waits, int const* operands) {
  if (steps.done >= waits.count) return operands;
  if ((int)steps.opcode >= ww_run_opcode) return steps.operands + (int)steps.word;
  if (steps.done + 1u >= waits.count) return operands;
  return steps.operands + (int)ww_table(waits.instructions + 4 * (ww_u64)(waits.first + steps.done + 1u), 1u);
}

// The value and its tag are one access, so a thread that sees the tag sees the value.
WW_FUNCTION void ww_tagged_store(
    ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u32 tag, float value) {
  ww_u64 const both = (ww_u64)ww_mark_of(exchange, tag) << 32 | __float_as_uint(value);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(buffers.arena + 8 * index), "l"(both) : "memory");
}

WW_FUNCTION bool ww_is_marked(ww_u64 both, ww_u32 tag) { return (ww_u32)(both >> 32) == tag; }

// Whether a poll goes on after `poll` failures; it gives up after time_limit_ns from the first look at the clock, or
// when abort is raised. Clock and abort word are read at every 64th poll.
WW_FUNCTION bool ww_polls_on(
    ww_exchange const& exchange, ww_u32 poll, ww_u64& start, ww_u64 element, ww_u64 both, ww_u32 wanted) {
  if (poll % 64u != 63u) return true;
  if (ww_load_control(exchange, ww_abort) != 0u) return false;
  ww_u64 const now = ww_time_ns();
  if (poll == 63u) start = now;
  if (now - start <= exchange.time_limit_ns) return true;
  ww_time_out(exchange, ww_by_poll, (ww_u32)element, 0u, (ww_u32)(both >> 32), wanted);
  return false;
}

WW_FUNCTION float ww_tagged_load(
    ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u32 tag) {
  ww_u32 const wanted = ww_mark_of(exchange, tag);
  ww_u64 both, start = 0;
  for (ww_u32 poll = 0;; ++poll) {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(both) : "l"(buffers.arena + 8 * index) : "memory");
    if (ww_is_marked(both, wanted) || !ww_polls_on(exchange, poll, start, index, both, wanted)) break;
  }
  return __uint_as_float((ww_u32)both);
}

// Two neighbours: each of both halves of the access is as good as an access of its own.
WW_FUNCTION void ww_tagged_load2(
    float* to, ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u32 tag) {
  ww_u32 const wanted = ww_mark_of(exchange, tag);
  ww_u64 first, second, start = 0;
  for (ww_u32 poll = 0;; ++poll) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second) : "l"(buffers.arena + 8 * index) : "memory");
    bool const has_first = ww_is_marked(first, wanted);
    if (has_first && ww_is_marked(second, wanted)) break;
    if (!ww_polls_on(exchange, poll, start, has_first ? index + 1 : index, has_first ? second : first, wanted)) break;
  }
  to[0] = __uint_as_float((ww_u32)first), to[1] = __uint_as_float((ww_u32)second);
}

// Elements that lie `apart` from one another: all loads are under way before the first is looked at.
template <int count>
WW_FUNCTION void ww_tagged_load_apart(
    float* to, ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u64 apart, ww_u32 tag) {
  ww_u32 const wanted = ww_mark_of(exchange, tag);
  ww_u64 both[count], start = 0;
  for (ww_u32 poll = 0;; ++poll) {
#pragma unroll
    for (int at = 0; at < count; ++at) {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                   : "=l"(both[at]) : "l"(buffers.arena + 8 * (index + at * apart)) : "memory");
    }
    int missing = count;
#pragma unroll
    for (int at = count - 1; at >= 0; --at) missing = ww_is_marked(both[at], wanted) ? missing : at;
    if (missing == count) break;
    ww_u64 seen = both[0];
#pragma unroll
    for (int at = 1; at < count; ++at) seen = at == missing ? both[at] : seen;
    if (!ww_polls_on(exchange, poll, start, index + missing * apart, seen, wanted)) break;
  }
#pragma unroll
  for (int at = 0; at < count; ++at) to[at] = __uint_as_float((ww_u32)both[at]);
}
