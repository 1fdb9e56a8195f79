// The prelude's host body: the primitives. Global accesses are checked against the size and the alignment of what they
// touch; a violation ends the process with a message.

namespace ww_host {

struct region {
  unsigned char const* start = nullptr;
  ww_u64 bytes = 0;

  // The byte address of `count` elements of `size` bytes from element `index` on.
  size_t at(char const* name, ww_u64 index, ww_u64 size, ww_u64 count) const {
    ww_u64 const elements = bytes / size;
    if (count > elements || index > elements - count) out_of_bounds(name, index, size, count);
    ww_u64 const widest = size * count > 16 ? 16 : size * count;
    if (reinterpret_cast<uintptr_t>(start + index * size) % widest != 0) misaligned(name, index, size, count);
    return index * size;
  }

  [[noreturn, gnu::noinline, gnu::cold]] void out_of_bounds(
      char const* name, ww_u64 index, ww_u64 size, ww_u64 count) const {
    std::string const what = describe(name, index, size, count);
    fail((what + " is out of bounds: it holds " + std::to_string(bytes) + " bytes").c_str());
  }

  [[noreturn, gnu::noinline, gnu::cold]] void misaligned(
      char const* name, ww_u64 index, ww_u64 size, ww_u64 count) const {
    fail((describe(name, index, size, count) + " is not aligned").c_str());
  }

  std::string describe(char const* name, ww_u64 index, ww_u64 size, ww_u64 count) const {
    return "block " + std::to_string(current_block->index) + ", thread " + std::to_string(current_fiber->thread) +
           ": an access to " + std::to_string(count) + " elements of " + std::to_string(size) + " bytes at element " +
           std::to_string((long long)index) + " of " + name;
  }
};

inline region arena, weights, counters;
inline region tables[3];

}  // namespace ww_host

WW_FUNCTION ww_u32 ww_thread() { return ww_host::current_fiber->thread; }
WW_FUNCTION ww_u32 ww_block() { return ww_host::current_block->index; }
WW_FUNCTION ww_u32 ww_grid() { return ww_host::current_block->grid; }
// Nodes run one after another here.
WW_FUNCTION void ww_dependency_wait() {}
WW_FUNCTION void ww_dependent_launch() {}
WW_FUNCTION unsigned char* ww_shared_memory() { return ww_host::current_block->shared; }

WW_FUNCTION ww_u32 ww_table(int const* table, ww_u32 index) {
  auto const* const word = reinterpret_cast<unsigned char const*>(table + (int)index);
  for (ww_host::region const& whole : ww_host::tables) {
    if (word >= whole.start && word + 4 <= whole.start + whole.bytes) return (ww_u32)table[(int)index];
  }
  ww_host::fail("a read of a plan table is out of bounds");
}
WW_FUNCTION void ww_table4(int const* table, ww_u32 index, ww_u32& a, ww_u32& b, ww_u32& c, ww_u32& d) {
  a = ww_table(table, index), b = ww_table(table, index + 1u);
  c = ww_table(table, index + 2u), d = ww_table(table, index + 3u);
}

// Loads and stores of elements that memory holds as `memory` and registers as `type`.
#define WW_DEFINE_ACCESS(name, type, memory)                                                                           \
  WW_FUNCTION type ww_load_element_##name(unsigned char const* from) {                                                 \
    memory value;                                                                                                      \
    std::memcpy(&value, from, sizeof value);                                                                           \
    return (type)value;                                                                                                \
  }                                                                                                                    \
  WW_FUNCTION void ww_store_element_##name(unsigned char* to, type value) {                                            \
    memory const stored = (memory)value;                                                                               \
    std::memcpy(to, &stored, sizeof stored);                                                                           \
  }                                                                                                                    \
  WW_DEFINE_LOADS(arena, name, type, sizeof(memory))                                                                   \
  WW_DEFINE_LOADS(weights, name, type, sizeof(memory))                                                                 \
  WW_FUNCTION void ww_arena_store_##name(ww_buffers const& buffers, ww_u64 index, type value) {                        \
    ww_store_element_##name(buffers.arena + ww_host::arena.at("the arena", index, sizeof(memory), 1), value);          \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store2_##name(ww_buffers const& buffers, ww_u64 index, type a, type b) {                   \
    ww_host::arena.at("the arena", index, sizeof(memory), 2);                                                          \
    ww_arena_store_##name(buffers, index, a), ww_arena_store_##name(buffers, index + 1, b);                            \
  }                                                                                                                    \
  WW_FUNCTION void ww_arena_store4_##name(                                                                             \
      ww_buffers const& buffers, ww_u64 index, type a, type b, type c, type d) {                                       \
    ww_host::arena.at("the arena", index, sizeof(memory), 4);                                                          \
    ww_arena_store_##name(buffers, index, a), ww_arena_store_##name(buffers, index + 1, b);                            \
    ww_arena_store_##name(buffers, index + 2, c), ww_arena_store_##name(buffers, index + 3, d);                        \
  }                                                                                                                    \
  WW_DEFINE_SHARED(name, type, memory)

#define WW_DEFINE_LOADS(space, name, type, bytes)                                                                      \
  WW_FUNCTION type ww_##space##_load_##name(ww_buffers const& buffers, ww_u64 index) {                                 \
    return ww_load_element_##name(buffers.space + ww_host::space.at("the " #space, index, bytes, 1));                  \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load2_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                      \
    ww_host::space.at("the " #space, index, bytes, 2);                                                                 \
    for (ww_u32 element = 0; element < 2; ++element) {                                                                 \
      to[element] = ww_##space##_load_##name(buffers, index + element);                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  WW_FUNCTION void ww_##space##_load4_##name(type* to, ww_buffers const& buffers, ww_u64 index) {                      \
    ww_host::space.at("the " #space, index, bytes, 4);                                                                 \
    for (ww_u32 element = 0; element < 4; ++element) {                                                                 \
      to[element] = ww_##space##_load_##name(buffers, index + element);                                                \
    }                                                                                                                  \
  }

// Takes the maximum with a word of eight bytes; orders nothing else.
WW_FUNCTION void ww_arena_maximum(ww_buffers const& buffers, ww_u64 word, ww_u64 value) {
  auto* const place = (ww_u64*)(buffers.arena + ww_host::arena.at("the arena", word, 8, 1));
  ww_u64 held = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (held < value && !__atomic_compare_exchange_n(place, &held, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// A shared array is checked against the whole shared memory of the block.
WW_FUNCTION void ww_check_shared(void const* array, int index, size_t size, ww_u32 count) {
  ww_host::block const& self = *ww_host::current_block;
  auto const offset = (size_t)((unsigned char const*)array - self.shared);
  ww_host::region{self.shared + offset, self.shared_bytes - offset}.at("a shared array", index, size, count);
}

#define WW_DEFINE_SHARED(name, type, memory)                                                                           \
  WW_FUNCTION type ww_shared_load_##name(memory const* array, int index) {                                             \
    ww_check_shared(array, index, sizeof(memory), 1);                                                                  \
    return (type)array[index];                                                                                         \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load2_##name(type* to, memory const* array, int index) {                                  \
    ww_check_shared(array, index, sizeof(memory), 2);                                                                  \
    for (ww_u32 element = 0; element < 2; ++element) to[element] = (type)array[index + element];                       \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_load4_##name(type* to, memory const* array, int index) {                                  \
    ww_check_shared(array, index, sizeof(memory), 4);                                                                  \
    for (ww_u32 element = 0; element < 4; ++element) to[element] = (type)array[index + element];                       \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store_##name(memory* array, int index, type value) {                                      \
    ww_check_shared(array, index, sizeof(memory), 1);                                                                  \
    array[index] = (memory)value;                                                                                      \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store2_##name(memory* array, int index, type a, type b) {                                 \
    ww_check_shared(array, index, sizeof(memory), 2);                                                                  \
    array[index] = (memory)a, array[index + 1] = (memory)b;                                                            \
  }                                                                                                                    \
  WW_FUNCTION void ww_shared_store4_##name(memory* array, int index, type a, type b, type c, type d) {                 \
    ww_check_shared(array, index, sizeof(memory), 4);                                                                  \
    array[index] = (memory)a, array[index + 1] = (memory)b;                                                            \
    array[index + 2] = (memory)c, array[index + 3] = (memory)d;                                                        \
  }

WW_DEFINE_ACCESS(f32, float, float)
WW_DEFINE_ACCESS(i32, ww_u32, ww_u32)
WW_DEFINE_ACCESS(i64, ww_u64, ww_u64)
WW_DEFINE_ACCESS(u32, ww_u64, ww_u32)
WW_DEFINE_ACCESS(u16, ww_u32, unsigned short)
WW_DEFINE_ACCESS(i16, ww_u32, short)
WW_DEFINE_ACCESS(u8, ww_u32, unsigned char)
WW_DEFINE_ACCESS(i8, ww_u32, signed char)
WW_DEFINE_ACCESS(bool, bool, unsigned char)

// Copies into shared memory, made when the thread waits for their group: until then their places hold no numbers.
template <int bytes>
static void ww_async_copy(void* to, unsigned char const* from, bool exists) {
  ww_host::copy made{(unsigned char*)to, bytes, {}};
  if (exists) std::memcpy(made.data, from, bytes);
  std::memset(to, 0xff, bytes);
  ww_host::current_fiber->open.push_back(made);
}
template <int bytes, class T>
static void ww_async_copy_arena(T* to, ww_buffers const& buffers, ww_u64 index, bool exists) {
  ww_u64 const at = exists ? ww_host::arena.at("the arena", index, sizeof(T), bytes / sizeof(T)) : 0;
  ww_async_copy<bytes>(to, buffers.arena + at, exists);
}
template <int bytes, class T>
static void ww_async_copy_weights(T* to, ww_buffers const& buffers, ww_u64 index, bool exists) {
  ww_u64 const at = exists ? ww_host::weights.at("the weights", index, sizeof(T), bytes / sizeof(T)) : 0;
  ww_async_copy<bytes>(to, buffers.weights + at, exists);
}
// Copies words of a plan table into shared memory, the threads sharing them.
template <int words, int threads>
static void ww_fetch(ww_u32* to, int const* table, ww_u32 first) {
  for (int word = 4 * (int)ww_thread(); word < words; word += 4 * threads) {
    for (int at = word; at < word + 4; ++at) ww_shared_store_i32(to, at, ww_table(table, first + (ww_u32)at));
  }
}
WW_FUNCTION ww_fetched ww_fetched_at(ww_u32 const* words) { return words; }
WW_FUNCTION ww_u32 ww_fetched_word(ww_fetched words, ww_u32 index) { return ww_shared_load_i32(words, (int)index); }
WW_FUNCTION void ww_async_commit() {
  ww_host::fiber& self = *ww_host::current_fiber;
  self.groups.push_back(std::move(self.open));
  self.open.clear();
}
template <int pending>
static void ww_async_wait() {
  auto& groups = ww_host::current_fiber->groups;
  for (; groups.size() > pending; groups.pop_front()) {
    for (ww_host::copy const& made : groups.front()) std::memcpy(made.to, made.data, made.bytes);
  }
}

WW_FUNCTION void ww_barrier() {
  ww_host::block& self = *ww_host::current_block;
  ww_host::meet(self.arrived, 0, self.threads);
}
WW_FUNCTION bool ww_barrier_or(bool condition) {
  ww_host::block& self = *ww_host::current_block;
  self.any |= condition;
  if (self.arrived + 1 == self.threads) {
    self.any_result = self.any;
    self.any = false;
  }
  ww_host::meet(self.arrived, 0, self.threads);
  return self.any_result;
}
WW_FUNCTION void ww_warp_barrier() { ww_host::meet_warp(); }

// Every lane of the warp takes part.
template <class T> WW_FUNCTION T ww_shuffle(T value, ww_u32 lane) {
  ww_u64 bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = ww_host::exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T> WW_FUNCTION T ww_shuffle_xor(T value, ww_u32 mask) { return ww_shuffle(value, ww_thread() ^ mask); }

// `who` has the session's control words: ww_arguments or ww_exchange.
template <class T> WW_FUNCTION ww_u32 ww_load_control(T const& who, ww_control_word word) {
  return (ww_u32)__atomic_load_n(who.control + word, __ATOMIC_RELAXED);
}
template <class T> WW_FUNCTION void ww_store_control(T const& who, ww_control_word word, ww_u32 value) {
  __atomic_store_n(who.control + word, (int)value, __ATOMIC_RELAXED);
}
WW_FUNCTION ww_u32 ww_add_control(ww_arguments const& arguments, ww_control_word word, ww_u32 value) {
  return (ww_u32)__atomic_fetch_add(arguments.control + word, (int)value, __ATOMIC_ACQ_REL);
}

WW_FUNCTION int* ww_counter(int* counters, ww_u32 counter) {
  ww_u64 const word = ww_host::counters.at("the counters", (ww_u64)counter * ww_counter_stride, 4, 1) / 4;
  return counters + word;
}
template <int order> static void ww_signal(int* counters, ww_u32 counter) {
  __atomic_fetch_add(ww_counter(counters, counter), 1, order);
}
WW_FUNCTION void ww_signal_release(ww_arguments const& arguments, ww_u32 counter) {
  ww_signal<__ATOMIC_RELEASE>(arguments.counters, counter);
}
WW_FUNCTION void ww_signal_relaxed(ww_arguments const& arguments, ww_u32 counter) {
  ww_signal<__ATOMIC_RELAXED>(arguments.counters, counter);
}

WW_FUNCTION ww_u32 ww_multiprocessor() { return ww_block(); }
WW_FUNCTION ww_u64 ww_time_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (ww_u64)now.tv_sec * 1000000000ull + (ww_u64)now.tv_nsec;
}

WW_FUNCTION ww_u32 ww_cycles() { return (ww_u32)ww_time_ns(); }

// Writes the first time-out of the session to the status buffer and makes every block leave at its next wait.
template <class T> static void ww_time_out(
    T const& arguments, ww_claim claim, ww_u32 position, ww_u32 counter, ww_u32 seen, ww_u32 target) {
  int claimed = 0;
  if (__atomic_compare_exchange_n(arguments.status, &claimed, (int)claim, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    arguments.status[1] = (int)ww_block();
    arguments.status[2] = (int)position;
    arguments.status[3] = (int)counter;
    arguments.status[4] = (int)seen;
    arguments.status[5] = (int)target;
  }
  ww_store_control(arguments, ww_abort, 1u);
}

// Whether a segment before this one was aborted, of whose results nothing must be read. The whole block learns the same.
WW_FUNCTION bool ww_was_aborted(int const* status) {
  return ww_barrier_or(ww_thread() == 0u && __atomic_load_n(status, __ATOMIC_RELAXED) != 0);
}
WW_FUNCTION ww_u32 ww_abort_before(int const* status) { return (ww_u32)__atomic_load_n(status, __ATOMIC_RELAXED); }

// Polls until the counter reaches the target; false after time_limit_ns of this wait, or when abort is raised.
template <int order, class T>
static bool ww_wait(T const& who, int* counters, ww_u32 counter, ww_u32 target, ww_u32 position) {
  int const* const word = ww_counter(counters, counter);
  ww_u64 const start = ww_time_ns();
  for (;;) {
    ww_u32 const seen = (ww_u32)__atomic_load_n(word, order);
    if (ww_reached(seen, target)) return true;
    if (ww_load_control(who, ww_abort) != 0u) return false;
    if (ww_time_ns() - start > who.time_limit_ns) {
      ww_time_out(who, ww_by_wait, position, counter, seen, target);
      return false;
    }
    ww_host::yield();
  }
}
WW_FUNCTION bool ww_wait_acquire(ww_arguments const& arguments, ww_u32 counter, ww_u32 target, ww_u32 position) {
  return ww_wait<__ATOMIC_ACQUIRE>(arguments, arguments.counters, counter, target, position);
}
WW_FUNCTION bool ww_wait_relaxed(ww_arguments const& arguments, ww_u32 counter, ww_u32 target, ww_u32 position) {
  return ww_wait<__ATOMIC_RELAXED>(arguments, arguments.counters, counter, target, position);
}

WW_FUNCTION float ww_f32_of_bits(ww_u32 bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
WW_FUNCTION ww_u32 ww_bits_of_f32(float value) {
  ww_u32 bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class T> WW_FUNCTION T ww_kept(ww_fetched launch, T ww_launch::* field) {
  return ((ww_launch const*)launch)->*field;
}

template <typename type, int count> static void ww_hold(type (&)[count]) {}

// The waits of a kernel: thread 0 polls, then the block meets. Whether one of them gave up.
template <int order>
static bool ww_await(ww_exchange const& exchange, ww_own_waits const& waits) {
  if (waits.count == 0u) return false;
  bool reached = true;
  if (ww_thread() == 0u) {
    for (ww_u32 number = 0; reached && number < waits.count; ++number) {
      ww_u32 const position = waits.first + number;
      ww_u32 const word = ww_ring_word(position);
      ww_u32 const arrivals = ww_fetched_word(waits.ring, word + 2u), signals = ww_fetched_word(waits.ring, word + 3u);
      ww_u32 const counter = ww_fetched_word(waits.ring, word + 1u), target = (exchange.epoch - 1u) * arrivals + signals;
      reached = ww_wait<order>(exchange, waits.counters, counter, target, position);
    }
  }
  return ww_barrier_or(!reached);
}
WW_FUNCTION bool ww_await_acquire(ww_exchange const& exchange, ww_own_waits const& waits) {
  return ww_await<__ATOMIC_ACQUIRE>(exchange, waits);
}
WW_FUNCTION bool ww_await_relaxed(ww_exchange const& exchange, ww_own_waits const& waits) {
  return ww_await<__ATOMIC_RELAXED>(exchange, waits);
}

// The rTasks of a call. An instruction behind the first says where the operands of its rTask begin in their table.
WW_FUNCTION ww_steps ww_steps_of(ww_own_waits const& waits) { return {waits.operands, 0u, 0u, 0u}; }

// Asks for the next instruction; every stream ends with one.
WW_FUNCTION void ww_look_ahead(ww_steps& steps, ww_own_waits const& waits) {
  int const* const words = waits.instructions + 4 * (ww_u64)(waits.first + steps.done);
  steps.opcode = ww_table(words, 0u), steps.word = ww_table(words, 1u);
}

// Gives the signals up to the next rTask, behind a barrier, and finds its operands; whether there is one.
template <int order>
static bool ww_next_step(
    ww_exchange const&, ww_own_waits const& waits, ww_steps& steps, int const*& operands) {
  if (steps.done >= waits.count) return false;
  if ((int)steps.opcode < ww_run_opcode) {
    ww_barrier();
    do {
      ++steps.done;
      if (steps.opcode == ww_signal_opcode && ww_thread() == 0u) ww_signal<order>(waits.counters, steps.word);
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
  return ww_next_step<__ATOMIC_RELEASE>(exchange, waits, steps, operands);
}
WW_FUNCTION bool ww_next_step_relaxed(
    ww_exchange const& exchange, ww_own_waits const& waits, ww_steps& steps, int const*& operands) {
  return ww_next_step<__ATOMIC_RELAXED>(exchange, waits, steps, operands);
}
WW_FUNCTION int const* ww_next_operands(ww_steps const& steps, ww_own_waits const& waits, int const* operands) {
  if (steps.done >= waits.count) return operands;
  if ((int)steps.opcode >= ww_run_opcode) return steps.operands + (int)steps.word;
  if (steps.done + 1u >= waits.count) return operands;
  return steps.operands + (int)ww_table(waits.instructions + 4 * (ww_u64)(waits.first + steps.done + 1u), 1u);
}

WW_FUNCTION ww_u64* ww_tagged(ww_buffers const& buffers, ww_u64 index) {
  return (ww_u64*)(buffers.arena + ww_host::arena.at("the arena", index, 8, 1));
}

// The value and its tag are one access, so a thread that sees the tag sees the value.
WW_FUNCTION void ww_tagged_store(
    ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u32 tag, float value) {
  ww_u64 const both = (ww_u64)ww_mark_of(exchange, tag) << 32 | ww_bits_of_f32(value);
  __atomic_store_n(ww_tagged(buffers, index), both, __ATOMIC_RELAXED);
}

// Polls until the tag is this launch's; gives up with any value after time_limit_ns, or when abort is raised.
WW_FUNCTION float ww_tagged_load(
    ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u32 tag) {
  ww_u32 const wanted = ww_mark_of(exchange, tag);
  ww_u64 const* const place = ww_tagged(buffers, index);
  ww_u64 const start = ww_time_ns();
  for (;;) {
    ww_u64 const both = __atomic_load_n(place, __ATOMIC_RELAXED);
    bool const carries_tag = (ww_u32)(both >> 32) == wanted;
    if (carries_tag || ww_load_control(exchange, ww_abort) != 0u) return ww_f32_of_bits((ww_u32)both);
    if (ww_time_ns() - start > exchange.time_limit_ns) {
      ww_time_out(exchange, ww_by_poll, (ww_u32)index, 0u, (ww_u32)(both >> 32), wanted);
      return ww_f32_of_bits((ww_u32)both);
    }
    ww_host::yield();
  }
}
WW_FUNCTION void ww_tagged_load2(
    float* to, ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u32 tag) {
  ww_host::arena.at("the arena", index, 8, 2);
  for (int at = 0; at < 2; ++at) to[at] = ww_tagged_load(buffers, exchange, index + at, tag);
}
template <int count>
static void ww_tagged_load_apart(
    float* to, ww_buffers const& buffers, ww_exchange const& exchange, ww_u64 index, ww_u64 apart, ww_u32 tag) {
  for (int at = 0; at < count; ++at) to[at] = ww_tagged_load(buffers, exchange, index + at * apart, tag);
}
WW_FUNCTION float ww_fused_multiply_add(float x, float y, float z) { return std::fma(x, y, z); }

// The operands hold the divisor's multiplier and shift.
WW_FUNCTION ww_u32 ww_fast_divide(ww_u32 value, ww_u32 multiplier, ww_u32 shift) {
  ww_u32 const high = (ww_u32)((ww_u64)value * multiplier >> 32);
  return (high + (multiplier == 0u ? value : 0u)) >> shift;
}

// NaN if either is NaN; the negative zero is the smaller.
WW_FUNCTION float ww_minimum(float x, float y) {
  if (x != x || y != y) return ww_f32_of_bits(0x7fffffffu);
  return x < y || (x == y && std::signbit(x)) ? x : y;
}
WW_FUNCTION float ww_maximum(float x, float y) {
  if (x != x || y != y) return ww_f32_of_bits(0x7fffffffu);
  return x > y || (x == y && !std::signbit(x)) ? x : y;
}
WW_FUNCTION float ww_absolute(float x) { return std::fabs(x); }
WW_FUNCTION float ww_exp(float x) { return std::exp(x); }
WW_FUNCTION float ww_log(float x) { return std::log(x); }
WW_FUNCTION float ww_sqrt(float x) { return std::sqrt(x); }
WW_FUNCTION float ww_divide(float x, float y) { return x / y; }
WW_FUNCTION float ww_tanh(float x) { return std::tanh(x); }
WW_FUNCTION float ww_logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }
WW_FUNCTION float ww_erf(float x) { return std::erf(x); }
WW_FUNCTION float ww_atan(float x) { return std::atan(x); }
WW_FUNCTION float ww_floor(float x) { return std::floor(x); }
WW_FUNCTION float ww_ceil(float x) { return std::ceil(x); }
WW_FUNCTION float ww_round_even(float x) { return std::nearbyint(x); }
WW_FUNCTION float ww_power(float x, float y) { return std::pow(x, y); }

// Truncates and saturates; NaN gives 0.
WW_FUNCTION ww_u32 ww_i32_of_f32(float value) {
  if (value != value) return 0u;
  if (value >= 0x1p31f) return 0x7fffffffu;
  return value < -0x1p31f ? 0x80000000u : (ww_u32)(int)value;
}
WW_FUNCTION ww_u64 ww_i64_of_f32(float value) {
  if (value != value) return 0u;
  if (value >= 0x1p63f) return 0x7fffffffffffffffull;
  return value < -0x1p63f ? 0x8000000000000000ull : (ww_u64)(long long)value;
}
