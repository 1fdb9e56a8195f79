// The prelude's host body: blocks as operating-system threads, CUDA threads as fibers.
//
// A fiber runs until it meets a barrier, polls or ends; a barrier parks it until the others arrive. When no fiber can run
// and one has not ended, the program diverged at a barrier, and the process ends with a message.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
// Switching by hand where it is written for the machine; elsewhere by the system's contexts, a system call each.
#if defined(__x86_64__) && !defined(WW_PORTABLE_FIBERS)
#define WW_SWITCH_BY_HAND
#else
#include <ucontext.h>
#endif

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace ww_host {

constexpr ww_u32 lanes = 32;
constexpr size_t stack_bytes = 128 * 1024;
constexpr ww_u64 canary = 0x57617270776f7665ull;

[[noreturn]] inline void fail(char const* what) {
  std::fprintf(stderr, "%s\n", what);
  std::fflush(stderr);
  _exit(3);
}

#if defined(WW_SWITCH_BY_HAND)
// Saves the callee-saved registers and the stack pointer of the running fiber, and restores those of another.
extern "C" void ww_switch_fiber(void** save, void* restore);
asm(R"(
.text
.type ww_switch_fiber, @function
ww_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ww_switch_fiber, .-ww_switch_fiber
)");

struct context {
  void* stack_pointer = nullptr;

  void start(unsigned char* stack, void (*function)()) {
    auto* top = reinterpret_cast<ww_u64*>(stack + stack_bytes);
    // The function is entered as if called: its stack pointer is 8 below a multiple of 16.
    *--top = 0;
    *--top = reinterpret_cast<ww_u64>(function);
    for (int saved = 0; saved < 6; ++saved) *--top = 0;
    stack_pointer = top;
  }
};

inline void switch_context(context& from, context& to) { ww_switch_fiber(&from.stack_pointer, to.stack_pointer); }
#else
struct context {
  ucontext_t saved;

  void start(unsigned char* stack, void (*function)()) {
    getcontext(&saved);
    saved.uc_stack.ss_sp = stack;
    saved.uc_stack.ss_size = stack_bytes;
    saved.uc_link = nullptr;
    makecontext(&saved, function, 0);
  }
};

inline void switch_context(context& from, context& to) { swapcontext(&from.saved, &to.saved); }
#endif

// A copy into shared memory that is under way.
struct copy {
  unsigned char* to;
  size_t bytes;
  unsigned char data[16];
};

struct fiber {
  context registers;
  ww_u32 thread = 0;
  ww_u32 exchange = 0;
  // The copies of the open group, and those of closed ones that have not been waited for.
  std::vector<copy> open;
  std::deque<std::vector<copy>> groups;
};

// What the lanes of a warp offer each other, twice: a lane may reach the next exchange while others still read this
// one.
struct warp {
  ww_u32 arrived = 0;
  ww_u64 offered[2][lanes];
};

struct block {
  ww_u32 index, grid, threads;
  std::function<void()> entry;
  unsigned char* shared;
  size_t shared_bytes;
  unsigned char* stacks;
  std::vector<fiber> fibers;
  std::vector<warp> warps;
  // A ring of the fibers that can run.
  std::vector<ww_u32> runnable;
  size_t first = 0, waiting = 0;
  // Whether threads that become runnable together run from the last to the first. Blocks and launches alternate, so that
  // what depends on the order of threads between two barriers shows.
  bool descending;
  ww_u32 arrived = 0, ended = 0;
  bool any = false, any_result = false;
  context scheduler;

  void make_runnable(ww_u32 thread) {
    runnable[(first + waiting) % threads] = thread;
    ++waiting;
  }

  // Makes the fibers [begin, end) runnable but for `except`.
  void make_runnable(ww_u32 begin, ww_u32 end, ww_u32 except) {
    for (ww_u32 step = 0; step < end - begin; ++step) {
      ww_u32 const thread = descending ? end - 1 - step : begin + step;
      if (thread != except) make_runnable(thread);
    }
  }
};

inline thread_local block* current_block = nullptr;
inline thread_local fiber* current_fiber = nullptr;

// Runs the next fiber. The caller is parked unless it made itself runnable.
inline void run_next(context& from) {
  block& self = *current_block;
  if (self.waiting == 0) fail("no thread of a block can continue: its threads wait at different barriers");
  fiber& next = self.fibers[self.runnable[self.first]];
  self.first = (self.first + 1) % self.threads;
  --self.waiting;
  current_fiber = &next;
  switch_context(from, next.registers);
}

inline void park() { run_next(current_fiber->registers); }

// Lets the other fibers of the block run, or other threads of the process if none can.
inline void yield() {
  block& self = *current_block;
  if (self.waiting == 0) {
    sched_yield();
    return;
  }
  self.make_runnable(current_fiber->thread);
  park();
}

// Meets the fibers [begin, end), which count their arrivals in `arrived`.
inline void meet(ww_u32& arrived, ww_u32 begin, ww_u32 end) {
  block& self = *current_block;
  if (++arrived < end - begin) {
    park();
    return;
  }
  arrived = 0;
  self.make_runnable(begin, end, current_fiber->thread);
}

inline void meet_warp() {
  ww_u32 const number = current_fiber->thread / lanes;
  meet(current_block->warps[number].arrived, number * lanes, (number + 1) * lanes);
}

// Offers `value` and returns what each lane offers, which lasts until the lane reaches the next exchange.
inline ww_u64 const* offer(ww_u64 value) {
  warp& mine = current_block->warps[current_fiber->thread / lanes];
  ww_u64* const offered = mine.offered[current_fiber->exchange++ % 2];
  offered[current_fiber->thread % lanes] = value;
  meet_warp();
  return offered;
}

// Offers `value` and returns what the lane of index `lane` offers.
inline ww_u64 exchange(ww_u64 value, ww_u32 lane) { return offer(value)[lane % lanes]; }

inline void run_thread() {
  block& self = *current_block;
  self.entry();
  context ended;
  if (++self.ended == self.threads) switch_context(ended, self.scheduler);
  run_next(ended);
  std::abort();
}

// Runs all threads of a block to their ends.
inline void run_block(block& self) {
  current_block = &self;
  size_t const bytes = stack_bytes * self.threads;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the stacks of a block");
  self.stacks = static_cast<unsigned char*>(memory);
  self.fibers.resize(self.threads);
  self.warps.resize(self.threads / lanes);
  self.runnable.resize(self.threads);
  for (ww_u32 thread = 0; thread < self.threads; ++thread) {
    unsigned char* const stack = self.stacks + stack_bytes * thread;
    std::memcpy(stack, &canary, sizeof canary);
    self.fibers[thread].thread = thread;
    self.fibers[thread].registers.start(stack, run_thread);
  }
  self.make_runnable(0, self.threads, self.threads);
  run_next(self.scheduler);
  for (ww_u32 thread = 0; thread < self.threads; ++thread) {
    if (std::memcmp(self.stacks + stack_bytes * thread, &canary, sizeof canary) != 0) {
      fail("the registers of a thread do not fit its stack");
    }
  }
  munmap(memory, bytes);
}

}  // namespace ww_host
