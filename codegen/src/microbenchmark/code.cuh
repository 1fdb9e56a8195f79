// Code of a given size: multiply-adds one after another, in eight chains, 64 of them a kilobyte.

#define WW_EIGHT                                                                                                       \
  "fma.rn.f32 %0, %0, %8, %9;\n" "fma.rn.f32 %1, %1, %8, %9;\n" "fma.rn.f32 %2, %2, %8, %9;\n"                         \
  "fma.rn.f32 %3, %3, %8, %9;\n" "fma.rn.f32 %4, %4, %8, %9;\n" "fma.rn.f32 %5, %5, %8, %9;\n"                         \
  "fma.rn.f32 %6, %6, %8, %9;\n" "fma.rn.f32 %7, %7, %8, %9;\n"

#define WW_KILOBYTE                                                                                                    \
  asm volatile(WW_EIGHT WW_EIGHT WW_EIGHT WW_EIGHT WW_EIGHT WW_EIGHT WW_EIGHT WW_EIGHT                                 \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),             \
                 "+f"(sums[6]), "+f"(sums[7])                                                                          \
               : "f"(x), "f"(y));

#define WW_FACTORS float const x = data[threadIdx.x], y = data[threadIdx.x + 1u];
#define WW_CHAINS float sums[8] = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};

__device__ __forceinline__ float ww_sum(float const (&sums)[8]) {
  float sum = 0.0f;
  #pragma unroll
  for (int at = 0; at < 8; ++at) sum += sums[at];
  return sum;
}
