WW_KERNEL unsigned k0(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v0, v1, v2, v3, v4, v5, v6;
  float r0[16];
  float r1[4];
  float r2[4];
  float r3[4];
  float* const s0 = (float*)(shared + 0);
  float* const s1 = (float*)(shared + 4096);
  v0 = ww_fetched_word(operands, 3u);
  v1 = ww_fetched_word(operands, 4u);
  v2 = ww_divide(tile, ww_fetched_word(operands, 5u)) * 64u;
  v3 = ww_remainder(tile, ww_fetched_word(operands, 5u)) * 64u;
  v4 = ww_shift_right(ww_thread(), 4u) * 4u;
  v5 = (ww_thread() & 15u) * 4u;
  #pragma unroll
  for (unsigned v9 = 0u; v9 < 16u; ++v9) {
    r0[v9] = 0.0f;
  }
  #pragma unroll 1
  for (unsigned v7 = 0u; (int)v7 < (int)ww_shift_right(v0, 4u); ++v7) {
    v6 = v7 * 16u;
    ww_arena_load4_f32(r3, buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + ww_shift_right(ww_thread(), 2u)) * v0 + (v6 + (ww_thread() & 3u) * 4u)));
    #pragma unroll
    for (unsigned v9 = 0u; v9 < 4u; ++v9) {
      ww_shared_store_f32(s0 + (int)ww_shift_right(ww_thread(), 2u), (int)(((ww_thread() & 3u) * 4u + v9) * 64u), r3[v9]);
    }
    ww_weights_load4_f32(r3, buffers, ww_extend(ww_fetched_word(operands, 1u) + (v6 + ww_shift_right(ww_thread(), 4u)) * v1 + (v3 + (ww_thread() & 15u) * 4u)));
    ww_shared_store4_f32(s1, ww_thread() * 4u, r3[0], r3[1], r3[2], r3[3]);
    ww_barrier();
    #pragma unroll
    for (unsigned v8 = 0u; v8 < 16u; ++v8) {
      ww_shared_load4_f32(r1, s0 + (int)v4, (int)(v8 * 64u));
      ww_shared_load4_f32(r2, s1 + (int)v5, (int)(v8 * 64u));
      #pragma unroll
      for (unsigned v9 = 0u; v9 < 4u; ++v9) {
        #pragma unroll
        for (unsigned v10 = 0u; v10 < 4u; ++v10) {
          r0[v9 * 4u + v10] = ww_fused_multiply_add(r1[v9], r2[v10], r0[v9 * 4u + v10]);
        }
      }
    }
    ww_barrier();
  }
  #pragma unroll
  for (unsigned v9 = 0u; v9 < 4u; ++v9) {
    ww_arena_store4_f32(buffers, ww_extend(ww_fetched_word(operands, 2u) + (v2 + v4 + v9) * v1 + (v3 + v5)), r0[v9 * 4u + 0u] + 0.0f, r0[v9 * 4u + 1u] + 0.0f, r0[v9 * 4u + 2u] + 0.0f, r0[v9 * 4u + 3u] + 0.0f);
  }
  return 0u;
}

WW_KERNEL unsigned k1(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v0, v1, v2, v3, v4, v5, v6;
  float r0[16];
  float r1[4];
  float r2[4];
  float r3[4];
  float* const s0 = (float*)(shared + 0);
  float* const s1 = (float*)(shared + 4096);
  v0 = ww_fetched_word(operands, 3u);
  v1 = ww_fetched_word(operands, 4u);
  v2 = ww_divide(tile, ww_fetched_word(operands, 5u)) * 64u;
  v3 = ww_remainder(tile, ww_fetched_word(operands, 5u)) * 64u;
  v4 = ww_shift_right(ww_thread(), 4u) * 4u;
  v5 = (ww_thread() & 15u) * 4u;
  #pragma unroll
  for (unsigned v9 = 0u; v9 < 16u; ++v9) {
    r0[v9] = 0.0f;
  }
  #pragma unroll 1
  for (unsigned v7 = 0u; (int)v7 < (int)ww_shift_right(v0, 4u); ++v7) {
    v6 = v7 * 16u;
    ww_arena_load4_f32(r3, buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + ww_shift_right(ww_thread(), 2u)) * v0 + (v6 + (ww_thread() & 3u) * 4u)));
    #pragma unroll
    for (unsigned v9 = 0u; v9 < 4u; ++v9) {
      ww_shared_store_f32(s0 + (int)ww_shift_right(ww_thread(), 2u), (int)(((ww_thread() & 3u) * 4u + v9) * 64u), r3[v9]);
    }
    ww_weights_load4_f32(r3, buffers, ww_extend(ww_fetched_word(operands, 1u) + (v6 + ww_shift_right(ww_thread(), 4u)) * v1 + (v3 + (ww_thread() & 15u) * 4u)));
    ww_shared_store4_f32(s1, ww_thread() * 4u, r3[0], r3[1], r3[2], r3[3]);
    ww_barrier();
    #pragma unroll
    for (unsigned v8 = 0u; v8 < 16u; ++v8) {
      ww_shared_load4_f32(r1, s0 + (int)v4, (int)(v8 * 64u));
      ww_shared_load4_f32(r2, s1 + (int)v5, (int)(v8 * 64u));
      #pragma unroll
      for (unsigned v9 = 0u; v9 < 4u; ++v9) {
        #pragma unroll
        for (unsigned v10 = 0u; v10 < 4u; ++v10) {
          r0[v9 * 4u + v10] = ww_fused_multiply_add(r1[v9], r2[v10], r0[v9 * 4u + v10]);
        }
      }
    }
    ww_barrier();
  }
  #pragma unroll
  for (unsigned v9 = 0u; v9 < 4u; ++v9) {
    ww_arena_store4_f32(buffers, ww_extend(ww_fetched_word(operands, 2u) + (v2 + v4 + v9) * v1 + (v3 + v5)), ww_tanh(r0[v9 * 4u + 0u] + 1.0f), ww_tanh(r0[v9 * 4u + 1u] + 1.0f), ww_tanh(r0[v9 * 4u + 2u] + 1.0f), ww_tanh(r0[v9 * 4u + 3u] + 1.0f));
  }
  return 0u;
}

#if defined(WW_LINKED)
__constant__ unsigned (*ww_kernels[])(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) = {k0, k1};
WW_FUNCTION unsigned ww_dispatch(unsigned number, ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned stopped;
  WW_CONVENTION
  stopped = ww_kernels[number](launch, operands, first_operand, tile, ring, first, count);
  return stopped;
}
#else
WW_FUNCTION unsigned ww_dispatch(unsigned number, ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  switch (number) {
    case 0u: return k0(launch, operands, first_operand, tile, ring, first, count);
    case 1u: return k1(launch, operands, first_operand, tile, ring, first, count);
    default: return 0u;
  }
}
#endif

extern "C" __global__ void __launch_bounds__(256, 1) warpweave_persistent(ww_arguments arguments) {
  ww_u32* const launch = (ww_u32*)ww_shared_memory();
  ww_keep_launch(launch, arguments);
  unsigned char* const shared = ww_shared_memory() + 80;
  ww_buffers const buffers = arguments.buffers;
  bool v6, v7, v8;
  unsigned v0, v1, v2, v3, v4, v5, v9, v10;
  unsigned r0[4];
  unsigned* const s0 = (unsigned*)(shared + 0);
  unsigned* const s1 = (unsigned*)(shared + 1024);
  v0 = ww_load_control(arguments, ww_epoch);
  v1 = ww_table(arguments.stream_start, ww_block() * 2u + 0u);
  v4 = ww_table(arguments.stream_start, ww_block() * 2u + 1u);
  ww_fetch<64, 256>(s0 + (((v1 & (-16u)) + 0u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 0u) * 4u);
  ww_fetch<64, 256>(s0 + (((v1 & (-16u)) + 16u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 16u) * 4u);
  ww_fetch<32, 256>(s1 + 0u, arguments.operands, v4);
  ww_async_commit();
  v5 = 0u;
  ww_async_wait<0>();
  ww_barrier();
  ww_shared_load4_i32(r0, s0, (v1 & 63u) * 4u);
  ww_fetch<64, 256>(s0 + (((v1 & (-16u)) + 32u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 32u) * 4u);
  ww_async_commit();
  for (;;) {
    v2 = v1 + 1u;
    if (!((int)r0[0] < 3)) {
      ww_fetch<32, 256>(s1 + 32u - v5, arguments.operands, r0[1]);
      ww_async_commit();
      v7 = ww_dispatch(r0[0] - 3u, ww_fetched_at(launch), ww_fetched_at(s1 + v5), v4, r0[2], ww_fetched_at(s0), v2, r0[3]) != 0u;
      v4 = r0[1];
      v5 = 32u - v5;
      v3 = v2;
      v8 = v7 || (!(ww_shift_right(v1 ^ v3, 4u) == 0u));
      ww_shared_load4_i32(r0, s0, (v2 & 63u) * 4u);
      ww_async_wait<0>();
      ww_barrier();
    } else {
      v3 = v2;
      v7 = false;
      if (r0[0] < 1u) {
        break;
      } else {
        if (r0[0] < 2u) {
          v6 = true;
          if (ww_thread() == 0u) {
            v6 = ww_wait_acquire(arguments, r0[1], (v0 - 1u) * r0[2] + r0[3], v1);
          }
          v7 = ww_barrier_or(!v6);
        } else {
          if (r0[0] < 3u) {
            if (ww_thread() == 0u) {
              ww_signal_release(arguments, r0[1]);
            }
          }
        }
      }
      v8 = v7 || (!(ww_shift_right(v1 ^ v3, 4u) == 0u));
      ww_shared_load4_i32(r0, s0, (v2 & 63u) * 4u);
    }
    if (v8) {
      if (v7) {
        break;
      }
      v1 = v3;
      ww_async_wait<0>();
      ww_barrier();
      ww_shared_load4_i32(r0, s0, (v1 & 63u) * 4u);
      ww_fetch<64, 256>(s0 + (((v1 & (-16u)) + 32u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 32u) * 4u);
      ww_async_commit();
    } else {
      v1 = v3;
    }
  }
  ww_async_wait<0>();
  if (ww_thread() == 0u) {
    v9 = ww_add_control(arguments, ww_left, 1u);
    if (v9 + 1u == v0 * ww_grid()) {
      v10 = ww_load_control(arguments, ww_abort);
      if (v10 == 0u) {
        ww_store_control(arguments, ww_epoch, v0 + 1u);
      }
    }
  }
}
