// Loops of one kind of work: what a multiprocessor does in a cycle.

// 16 chains of multiply-adds a thread, 16 steps a round.
template <int unused>
__device__ __forceinline__ void ww_multiply_adds(ww_u64* stamps, float* data, ww_u32 rounds) {
  float const x = data[threadIdx.x], y = data[threadIdx.x + 1u];
  float sums[16];
  #pragma unroll
  for (int at = 0; at < 16; ++at) sums[at] = (float)at;
  ww_timed(stamps, [&] {
    for (ww_u32 round = 0u; round < rounds; ++round) {
      #pragma unroll
      for (int step = 0; step < 16; ++step) {
        #pragma unroll
        for (int at = 0; at < 16; ++at) sums[at] = fmaf(sums[at], x, y);
      }
    }
  });
  float sum = 0.0f;
  #pragma unroll
  for (int at = 0; at < 16; ++at) sum += sums[at];
  ww_keep(data, sum);
}

// 16 loads of 16 bytes of shared memory a thread and round, neighbours by neighbours.
template <int unused>
__device__ __forceinline__ void ww_shared_reads(ww_u64* stamps, float* data, ww_u32 rounds) {
  __shared__ float4 shared[1024];
  for (ww_u32 at = threadIdx.x; at < 1024u; at += blockDim.x) shared[at] = make_float4(data[at], 0.0f, 1.0f, 2.0f);
  ww_u32 const first = (ww_u32)__cvta_generic_to_shared(&shared[threadIdx.x]);
  float4 last = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  ww_timed(stamps, [&] {
    for (ww_u32 round = 0u; round < rounds; ++round) {
      #pragma unroll
      for (int load = 0; load < 16; ++load) {
        asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(last.x), "=f"(last.y), "=f"(last.z), "=f"(last.w)
                     : "r"(first + (ww_u32)(load % 4) * 4096u));
      }
    }
  });
  ww_keep(data, last.x + last.y + last.z + last.w);
}

// `width` neighbours of shared memory into registers by one load.
template <int width>
__device__ __forceinline__ void ww_fragment(float* to, float const* from) {
  if constexpr (width == 4) {
    float4 const loaded = *(float4 const*)from;
    to[0] = loaded.x; to[1] = loaded.y; to[2] = loaded.z; to[3] = loaded.w;
  } else {
    float2 const loaded = *(float2 const*)from;
    to[0] = loaded.x; to[1] = loaded.y;
  }
}

// 16 x 16 threads with `rows` x `columns` sums each: 32 steps along the reduction a round, fragments of both factors read
// from shared memory by loads of `width` elements, those of neighbouring threads side by side. Staged: the factors of the next round come from global memory meanwhile.
template <int rows, int columns, int width, bool staged>
__device__ __forceinline__ void ww_tile(ww_u64* stamps, float* data, ww_u64 elements, ww_u32 rounds) {
  constexpr int steps = 32, threads = 256;
  constexpr int left_row = 16 * rows, right_row = 16 * columns;
  constexpr int buffers = staged ? 2 : 1;
  constexpr int tile = steps * (left_row + right_row);
  constexpr int fetched = tile / threads / 4;
  extern __shared__ float4 ww_shared[];
  float* const shared = (float*)ww_shared;
  for (int at = threadIdx.x; at < buffers * tile; at += threads) shared[at] = data[at % 1024];
  int const row = threadIdx.x / 16 * width, column = threadIdx.x % 16 * width;
  float sums[rows][columns];
  #pragma unroll
  for (int i = 0; i < rows; ++i) {
    #pragma unroll
    for (int j = 0; j < columns; ++j) sums[i][j] = (float)(i + j);
  }
  ww_timed(stamps, [&] {
    for (ww_u32 round = 0u; round < rounds; ++round) {
      float* const left = shared + (staged ? (round & 1u) * tile : 0u);
      float* const right = left + steps * left_row;
      float4 next[staged ? fetched : 1];
      if constexpr (staged) {
        ww_u64 const from = ((ww_u64)(round + blockIdx.x) * tile) % elements;
        #pragma unroll
        for (int at = 0; at < fetched; ++at) next[at] = __ldcg((float4 const*)(data + from) + at * threads + threadIdx.x);
      }
      #pragma unroll 8
      for (int step = 0; step < steps; ++step) {
        float a[rows], b[columns];
        #pragma unroll
        for (int i = 0; i < rows; i += width) ww_fragment<width>(a + i, left + step * left_row + row + 16 * i);
        #pragma unroll
        for (int j = 0; j < columns; j += width) ww_fragment<width>(b + j, right + step * right_row + column + 16 * j);
        #pragma unroll
        for (int i = 0; i < rows; ++i) {
          #pragma unroll
          for (int j = 0; j < columns; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
      }
      if constexpr (staged) {
        float4* const other = (float4*)(shared + ((round & 1u) ^ 1u) * tile);
        #pragma unroll
        for (int at = 0; at < fetched; ++at) other[at * threads + threadIdx.x] = next[at];
      }
      __syncthreads();
    }
  });
  float sum = 0.0f;
  #pragma unroll
  for (int i = 0; i < rows; ++i) {
    #pragma unroll
    for (int j = 0; j < columns; ++j) sum += sums[i][j];
  }
  ww_keep(data, sum);
}

// All blocks together read the elements, 16 bytes a load, eight loads of a thread under way, past the first-level cache.
template <int unused>
__device__ __forceinline__ void ww_stream(ww_u64* stamps, float* data, ww_u64 elements, ww_u32 rounds) {
  float4 const* const from = (float4 const*)data;
  ww_u64 const count = elements / 4u, apart = (ww_u64)gridDim.x * blockDim.x;
  ww_u64 const first = (ww_u64)blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  ww_timed(stamps, [&] {
    for (ww_u32 round = 0u; round < rounds; ++round) {
      ww_u64 at = first;
      for (; at + 7u * apart < count; at += 8u * apart) {
        float4 loaded[8];
        #pragma unroll
        for (int load = 0; load < 8; ++load) loaded[load] = __ldcg(from + at + load * apart);
        #pragma unroll
        for (int load = 0; load < 8; ++load) sum += loaded[load].x + loaded[load].y + loaded[load].z + loaded[load].w;
      }
      for (; at < count; at += apart) sum += __ldcg(from + at).x;
    }
  });
  ww_keep(data, sum);
}
