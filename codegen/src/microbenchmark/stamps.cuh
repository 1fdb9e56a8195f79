// How entries are timed, each block by itself.
//
// Every entry takes a stamp of three words a block (start and end on the clock that all blocks share, in nanoseconds; cycles
// of its multiprocessor), data, how many elements of it, and how often to go round. A sum that cannot be predicted is stored,
// so that nothing is left out.

typedef unsigned int ww_u32;
typedef unsigned long long ww_u64;

#define WW_ENTRY(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) \
  name(ww_u64* __restrict__ stamps, float* data, ww_u64 elements, ww_u32 rounds)

__device__ __forceinline__ ww_u64 ww_nanoseconds() {
  ww_u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Runs the body between two stamps; before and after it the block meets.
template <class Body>
__device__ __forceinline__ void ww_timed(ww_u64* stamps, Body body) {
  __syncthreads();
  ww_u64 const start = ww_nanoseconds();
  long long const first = clock64();
  body();
  __syncthreads();
  long long const last = clock64();
  ww_u64 const end = ww_nanoseconds();
  if (threadIdx.x == 0u) {
    stamps[3u * blockIdx.x] = start;
    stamps[3u * blockIdx.x + 1u] = end;
    stamps[3u * blockIdx.x + 2u] = (ww_u64)(last - first);
  }
}

__device__ __forceinline__ void ww_keep(float* data, float sum) {
  if (sum == 12345.678f) data[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
