// What takes a unit from one rTask to a dependent one, by the primitives of the prelude.
//
// The data begins with a session's control words and status, then counters, a line each; the arena follows. All of it is zero
// before a launch. A wait that gives up raises the abort flag, by which every other one ends; the stamp then says so.

constexpr ww_u64 ww_probe_limit_ns = 50000000ull;
constexpr ww_u32 ww_probe_arena_bytes = 65536u;
constexpr ww_u64 ww_probe_failed = ~0ull;

WW_FUNCTION ww_exchange ww_probe_exchange(float* data) {
  int* const words = (int*)data;
  return {words, words + ww_control_words, ww_probe_limit_ns, 1u};
}
WW_FUNCTION int* ww_probe_counters(float* data) { return (int*)data + 2u * ww_control_words; }
WW_FUNCTION ww_buffers ww_probe_buffers(float* data) {
  unsigned char* const arena = (unsigned char*)data + ww_probe_arena_bytes;
  return {arena, arena};
}

// Runs the body between two stamps; it gives the cycles that thread 0 reports, or that a wait gave up.
template <class Body>
WW_FUNCTION void ww_exchanged(ww_u64* stamps, float* data, Body body) {
  ww_barrier();
  ww_u64 const start = ww_time_ns();
  ww_u64 const cycles = body();
  ww_barrier();
  ww_u64 const end = ww_time_ns();
  if (ww_thread() != 0u) return;
  bool const aborted = ww_load_control(ww_probe_exchange(data), ww_abort) != 0u;
  stamps[3u * ww_block()] = start;
  stamps[3u * ww_block() + 1u] = end;
  stamps[3u * ww_block() + 2u] = aborted ? ww_probe_failed : cycles;
}

// A ring of blocks: each waits for the signal of the one before it and then signals; the first one begins every round.
WW_FUNCTION void ww_signal_ring(ww_u64* stamps, float* data, ww_u32 rounds) {
  ww_exchange const exchange = ww_probe_exchange(data);
  int* const counters = ww_probe_counters(data);
  ww_u32 const own = ww_block(), before = own == 0u ? ww_grid() - 1u : own - 1u;
  ww_exchanged(stamps, data, [&] {
    long long const first = clock64();
    bool reached = true;
    if (ww_thread() == 0u) {
      for (ww_u32 round = 0u; reached && round < rounds; ++round) {
        if (own == 0u) ww_signal<true>(counters, own);
        reached = ww_wait<true>(exchange, counters, before, round + 1u, round);
        if (own != 0u && reached) ww_signal<true>(counters, own);
      }
    }
    return (ww_u64)(clock64() - first);
  });
}

// The same ring by values that carry their own tags, a line each.
WW_FUNCTION void ww_tagged_ring(ww_u64* stamps, float* data, ww_u32 rounds) {
  ww_exchange exchange = ww_probe_exchange(data);
  ww_buffers const buffers = ww_probe_buffers(data);
  ww_u32 const own = ww_block(), before = own == 0u ? ww_grid() - 1u : own - 1u;
  ww_exchanged(stamps, data, [&] {
    long long const first = clock64();
    if (ww_thread() == 0u) {
      float value = 0.0f;
      for (ww_u32 round = 0u; round < rounds; ++round) {
        exchange.epoch = round + 1u;
        if (own == 0u) ww_tagged_store(buffers, exchange, 16u * own, 1u, value);
        value = ww_tagged_load(buffers, exchange, 16u * before, 1u) + 1.0f;
        if (own != 0u) ww_tagged_store(buffers, exchange, 16u * own, 1u, value);
      }
    }
    return (ww_u64)(clock64() - first);
  });
}

// All blocks signal one counter and wait for all.
WW_FUNCTION void ww_meet(ww_u64* stamps, float* data, ww_u32 rounds) {
  ww_exchange const exchange = ww_probe_exchange(data);
  int* const counters = ww_probe_counters(data);
  ww_exchanged(stamps, data, [&] {
    long long const first = clock64();
    for (ww_u32 round = 0u; round < rounds; ++round) {
      bool reached = true;
      ww_barrier();
      if (ww_thread() == 0u) {
        ww_signal<true>(counters, 0u);
        reached = ww_wait<true>(exchange, counters, 0u, (round + 1u) * ww_grid(), round);
      }
      if (ww_barrier_or(!reached)) break;
    }
    return (ww_u64)(clock64() - first);
  });
}

// The end of an rTask, block by block: what it stores, the barrier, and the signal. Between two of them the signal before has
// arrived, so that nothing but what is timed is under way. The cycles are those of the ends alone.
template <bool stores, bool signals>
WW_FUNCTION void ww_task_end(ww_u64* stamps, float* data, ww_u32 rounds) {
  ww_exchange const exchange = ww_probe_exchange(data);
  int* const counters = ww_probe_counters(data);
  ww_buffers const buffers = ww_probe_buffers(data);
  ww_u32 const own = ww_block();
  ww_u64 const element = 4u * ((ww_u64)own * blockDim.x + ww_thread());
  ww_exchanged(stamps, data, [&] {
    ww_u64 cycles = 0u;
    for (ww_u32 round = 0u; round < rounds; ++round) {
      bool reached = true;
      if (ww_thread() == 0u && signals) reached = ww_wait<true>(exchange, counters, own, round, round);
      if (ww_barrier_or(!reached)) break;
      long long const first = clock64();
      if (stores) ww_arena_store4_f32(buffers, element, (float)round, 1.0f, 2.0f, 3.0f);
      ww_barrier();
      if (ww_thread() == 0u && signals) ww_signal<true>(counters, own);
      cycles += (ww_u64)(clock64() - first);
    }
    return cycles;
  });
}

// Kernels that do nothing: as a node that lets the next one in early and waits for the one before, and as one that does not.
extern "C" __global__ void __launch_bounds__(256, 1) ww_empty_node(ww_u64*, float*, ww_u64, ww_u32) {
  ww_dependency_wait();
  ww_dependent_launch();
}
extern "C" __global__ void __launch_bounds__(256, 1) ww_empty(ww_u64*, float*, ww_u64, ww_u32) {}
