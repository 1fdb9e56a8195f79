static __device__ __forceinline__ void k0(
    ww_arguments const& arguments, int const* operands, unsigned tile, unsigned char* shared) {
  bool v0;
  unsigned v1;
  unsigned long long v2;
  float v3;
  v0 = false;
  v1 = -2147483648u;
  v2 = -2ull;
  v3 = -0.0f;
  v3 = ww_f32_of_bits(0x7fc00001u);
  v3 = 0x0.000002p-126f;
  v1 = ww_thread();
  v1 = ww_block();
  v1 = ww_grid();
  v1 = ww_table(operands, 7u);
  v1 = tile;
  v1 = ww_fast_divide(v1, ww_table(operands, 3u), ww_table(operands, 4u));
  v1 = -v1;
  v2 = -v2;
  v3 = -v3;
  v1 = ww_absolute(v1);
  v2 = ww_absolute(v2);
  v3 = ww_absolute(v3);
  v0 = !v0;
  v3 = ww_exp(v3);
  v3 = ww_log(v3);
  v3 = ww_sqrt(v3);
  v3 = ww_tanh(v3);
  v3 = ww_erf(v3);
  v3 = ww_sin(v3);
  v3 = ww_cos(v3);
  v3 = ww_floor(v3);
  v3 = ww_ceil(v3);
  v3 = ww_round_even(v3);
  v1 = v1 + v1;
  v2 = v2 + v2;
  v3 = v3 + v3;
  v1 = v1 - v1;
  v2 = v2 - v2;
  v3 = v3 - v3;
  v1 = v1 * v1;
  v2 = v2 * v2;
  v3 = v3 * v3;
  v1 = ww_divide(v1, v1);
  v2 = ww_divide(v2, v2);
  v3 = v3 / v3;
  v1 = ww_minimum(v1, v1);
  v2 = ww_minimum(v2, v2);
  v3 = ww_minimum(v3, v3);
  v1 = ww_maximum(v1, v1);
  v2 = ww_maximum(v2, v2);
  v3 = ww_maximum(v3, v3);
  v3 = ww_power(v3, v3);
  v1 = ww_remainder(v1, v1);
  v2 = ww_remainder(v2, v2);
  v1 = v1 & v1;
  v2 = v2 & v2;
  v1 = v1 ^ v1;
  v2 = v2 ^ v2;
  v1 = v1 << v1;
  v2 = v2 << v2;
  v1 = (unsigned)((int)v1 >> v1);
  v2 = (unsigned long long)((long long)v2 >> v2);
  v0 = v0 < v0;
  v0 = (int)v1 < (int)v1;
  v0 = (long long)v2 < (long long)v2;
  v0 = v3 < v3;
  v0 = v0 <= v0;
  v0 = (int)v1 <= (int)v1;
  v0 = (long long)v2 <= (long long)v2;
  v0 = v3 <= v3;
  v0 = v0 == v0;
  v0 = v1 == v1;
  v0 = v2 == v2;
  v0 = v3 == v3;
  v0 = v0 && v0;
  v0 = v0 || v0;
  v1 = (v1 + (-3u)) * (v1 * v1);
  v0 = -3 < (int)(v1 + v1);
  v1 = (unsigned)((int)(v1 + v1) >> 2u);
  v3 = ww_fused_multiply_add(v3, v3, v3);
  v0 = v0 ? v0 : v0;
  v0 = v0;
  v1 = (unsigned)v0;
  v2 = (unsigned long long)v0;
  v3 = (float)v0;
  v0 = ww_shuffle_xor(v0, 16u);
  v0 = ww_shuffle(v0, 3u);
  v1 = v0 ? v1 : v1;
  v0 = v1 != 0u;
  v1 = v1;
  v2 = ww_extend(v1);
  v3 = (float)(int)v1;
  v1 = ww_shuffle_xor(v1, 16u);
  v1 = ww_shuffle(v1, 3u);
  v2 = v0 ? v2 : v2;
  v0 = v2 != 0u;
  v1 = (unsigned)v2;
  v2 = v2;
  v3 = (float)(long long)v2;
  v2 = ww_shuffle_xor(v2, 16u);
  v2 = ww_shuffle(v2, 3u);
  v3 = v0 ? v3 : v3;
  v0 = v3 != 0.0f;
  v1 = ww_i32_of_f32(v3);
  v2 = ww_i64_of_f32(v3);
  v3 = v3;
  v3 = ww_shuffle_xor(v3, 16u);
  v3 = ww_shuffle(v3, 3u);
}

static __device__ __forceinline__ void k1(
    ww_arguments const& arguments, int const* operands, unsigned tile, unsigned char* shared) {
  bool v0;
  unsigned v1, v2, v3;
  unsigned long long v4;
  float v5;
  bool r0[8];
  unsigned r1[8];
  unsigned r2[8];
  unsigned r3[8];
  unsigned long long r4[8];
  float r5[8];
  unsigned char* const s0 = (unsigned char*)(shared + 0);
  signed char* const s1 = (signed char*)(shared + 32);
  unsigned char* const s2 = (unsigned char*)(shared + 64);
  unsigned* const s3 = (unsigned*)(shared + 96);
  unsigned long long* const s4 = (unsigned long long*)(shared + 176);
  float* const s5 = (float*)(shared + 336);
  v0 = ww_arena_load_bool(arguments, 8ull);
  v0 = ww_weights_load_bool(arguments, 8ull);
  v0 = ww_shared_load_bool(s0, 8u);
  ww_arena_store_bool(arguments, ww_extend(tile), r0[0]);
  ww_shared_store_bool(s0, 8u, r0[0]);
  ww_arena_load2_bool(r0 + 6, arguments, 8ull);
  ww_weights_load2_bool(r0 + 6, arguments, 8ull);
  ww_shared_load2_bool(r0 + 6, s0, 8u);
  ww_arena_store2_bool(arguments, ww_extend(tile), r0[0], r0[1]);
  ww_shared_store2_bool(s0, 8u, r0[0], r0[1]);
  ww_arena_load4_bool(r0, arguments, 8ull);
  ww_weights_load4_bool(r0, arguments, 8ull);
  ww_shared_load4_bool(r0, s0, 8u);
  ww_arena_store4_bool(arguments, ww_extend(tile), r0[0], r0[1], r0[2], r0[3]);
  ww_shared_store4_bool(s0, 8u, r0[0], r0[1], r0[2], r0[3]);
  v1 = ww_arena_load_i8(arguments, 8ull);
  v1 = ww_weights_load_i8(arguments, 8ull);
  v1 = ww_shared_load_i8(s1, 8u);
  ww_arena_store_i8(arguments, ww_extend(tile), r1[0]);
  ww_shared_store_i8(s1, 8u, r1[0]);
  ww_arena_load2_i8(r1 + 6, arguments, 8ull);
  ww_weights_load2_i8(r1 + 6, arguments, 8ull);
  ww_shared_load2_i8(r1 + 6, s1, 8u);
  ww_arena_store2_i8(arguments, ww_extend(tile), r1[0], r1[1]);
  ww_shared_store2_i8(s1, 8u, r1[0], r1[1]);
  ww_arena_load4_i8(r1, arguments, 8ull);
  ww_weights_load4_i8(r1, arguments, 8ull);
  ww_shared_load4_i8(r1, s1, 8u);
  ww_arena_store4_i8(arguments, ww_extend(tile), r1[0], r1[1], r1[2], r1[3]);
  ww_shared_store4_i8(s1, 8u, r1[0], r1[1], r1[2], r1[3]);
  v2 = ww_arena_load_u8(arguments, 8ull);
  v2 = ww_weights_load_u8(arguments, 8ull);
  v2 = ww_shared_load_u8(s2, 8u);
  ww_arena_store_u8(arguments, ww_extend(tile), r2[0]);
  ww_shared_store_u8(s2, 8u, r2[0]);
  ww_arena_load2_u8(r2 + 6, arguments, 8ull);
  ww_weights_load2_u8(r2 + 6, arguments, 8ull);
  ww_shared_load2_u8(r2 + 6, s2, 8u);
  ww_arena_store2_u8(arguments, ww_extend(tile), r2[0], r2[1]);
  ww_shared_store2_u8(s2, 8u, r2[0], r2[1]);
  ww_arena_load4_u8(r2, arguments, 8ull);
  ww_weights_load4_u8(r2, arguments, 8ull);
  ww_shared_load4_u8(r2, s2, 8u);
  ww_arena_store4_u8(arguments, ww_extend(tile), r2[0], r2[1], r2[2], r2[3]);
  ww_shared_store4_u8(s2, 8u, r2[0], r2[1], r2[2], r2[3]);
  v3 = ww_arena_load_i32(arguments, 8ull);
  v3 = ww_weights_load_i32(arguments, 8ull);
  v3 = ww_shared_load_i32(s3, 8u);
  ww_arena_store_i32(arguments, ww_extend(tile), r3[0]);
  ww_shared_store_i32(s3, 8u, r3[0]);
  ww_arena_load2_i32(r3 + 6, arguments, 8ull);
  ww_weights_load2_i32(r3 + 6, arguments, 8ull);
  ww_shared_load2_i32(r3 + 6, s3, 8u);
  ww_arena_store2_i32(arguments, ww_extend(tile), r3[0], r3[1]);
  ww_shared_store2_i32(s3, 8u, r3[0], r3[1]);
  ww_arena_load4_i32(r3, arguments, 8ull);
  ww_weights_load4_i32(r3, arguments, 8ull);
  ww_shared_load4_i32(r3, s3, 8u);
  ww_arena_store4_i32(arguments, ww_extend(tile), r3[0], r3[1], r3[2], r3[3]);
  ww_shared_store4_i32(s3, 8u, r3[0], r3[1], r3[2], r3[3]);
  v4 = ww_arena_load_i64(arguments, 8ull);
  v4 = ww_weights_load_i64(arguments, 8ull);
  v4 = ww_shared_load_i64(s4, 8u);
  ww_arena_store_i64(arguments, ww_extend(tile), r4[0]);
  ww_shared_store_i64(s4, 8u, r4[0]);
  ww_arena_load2_i64(r4 + 6, arguments, 8ull);
  ww_weights_load2_i64(r4 + 6, arguments, 8ull);
  ww_shared_load2_i64(r4 + 6, s4, 8u);
  ww_arena_store2_i64(arguments, ww_extend(tile), r4[0], r4[1]);
  ww_shared_store2_i64(s4, 8u, r4[0], r4[1]);
  ww_arena_load4_i64(r4, arguments, 8ull);
  ww_weights_load4_i64(r4, arguments, 8ull);
  ww_shared_load4_i64(r4, s4, 8u);
  ww_arena_store4_i64(arguments, ww_extend(tile), r4[0], r4[1], r4[2], r4[3]);
  ww_shared_store4_i64(s4, 8u, r4[0], r4[1], r4[2], r4[3]);
  v5 = ww_arena_load_f32(arguments, 8ull);
  v5 = ww_weights_load_f32(arguments, 8ull);
  v5 = ww_shared_load_f32(s5, 8u);
  ww_arena_store_f32(arguments, ww_extend(tile), r5[0]);
  ww_shared_store_f32(s5, 8u, r5[0]);
  ww_arena_load2_f32(r5 + 6, arguments, 8ull);
  ww_weights_load2_f32(r5 + 6, arguments, 8ull);
  ww_shared_load2_f32(r5 + 6, s5, 8u);
  ww_arena_store2_f32(arguments, ww_extend(tile), r5[0], r5[1]);
  ww_shared_store2_f32(s5, 8u, r5[0], r5[1]);
  ww_arena_load4_f32(r5, arguments, 8ull);
  ww_weights_load4_f32(r5, arguments, 8ull);
  ww_shared_load4_f32(r5, s5, 8u);
  ww_arena_store4_f32(arguments, ww_extend(tile), r5[0], r5[1], r5[2], r5[3]);
  ww_shared_store4_f32(s5, 8u, r5[0], r5[1], r5[2], r5[3]);
}

static __device__ __forceinline__ void k2(
    ww_arguments const& arguments, int const* operands, unsigned tile, unsigned char* shared) {
  bool v3;
  unsigned v2;
  #pragma unroll
  for (unsigned v0 = 0u; v0 < 4u; ++v0) {
    #pragma unroll 1
    for (unsigned v1 = 0u; (int)v1 < (int)v0; ++v1) {
      v2 = v2 + 1u;
    }
  }
  {
    unsigned const v0_extent = v2;
    #pragma unroll 1
    for (unsigned v0 = 0u; (int)v0 < (int)v0_extent; ++v0) {
      v2 = v2 + 1u;
    }
  }
  #pragma unroll 1
  for (unsigned v0 = 0u; (int)v0 < (int)ww_table(operands, 2u); ++v0) {
  }
  if (v3) {
    ww_barrier();
  } else {
    ww_warp_barrier();
  }
  for (;;) {
    if (v3) {
      break;
    }
  }
  for (;;) {
    v3 = ww_barrier_or(v3);
    switch (v2) {
      case 0u: {
        v2 = v2 + 1u;
      } break;
      case 1u: {
        goto end_of_loop_1;
      } break;
      case 2u: {
        if (v3) {
          goto end_of_loop_1;
        }
      } break;
      default: break;
    }
    for (;;) {
      break;
    }
  }
  end_of_loop_1:;
}

extern "C" __global__ void __launch_bounds__(128, 1) warpweave_persistent(ww_arguments arguments) {
  unsigned char* const shared = ww_shared_memory();
  bool v2;
  unsigned v0, v1;
  k0(arguments, arguments.operands + ww_extend(v0), 3u, shared + 16);
  k1(arguments, arguments.operands + ww_extend(v0), 3u, shared + 16);
  k2(arguments, arguments.operands + ww_extend(v0), 3u, shared + 16);
  v0 = ww_table(arguments.stream_start, v0);
  v0 = ww_table(arguments.instructions, v0);
  v0 = ww_table(arguments.operands, v0);
  v0 = ww_load_control(arguments, ww_epoch);
  v0 = ww_add_control(arguments, ww_epoch, v0);
  ww_store_control(arguments, ww_epoch, v0);
  v0 = ww_load_control(arguments, ww_left);
  v0 = ww_add_control(arguments, ww_left, v0);
  ww_store_control(arguments, ww_left, v0);
  v0 = ww_load_control(arguments, ww_abort);
  v0 = ww_add_control(arguments, ww_abort, v0);
  ww_store_control(arguments, ww_abort, v0);
  v2 = ww_wait_relaxed(arguments, v0, v1, v0);
  v2 = ww_wait_acquire(arguments, v0, v1, v0);
  ww_signal_relaxed(arguments, v0);
  ww_signal_release(arguments, v0);
}
