WW_KERNEL void k0(ww_buffers buffers, ww_fetched operands, unsigned tile) {
  unsigned char* const shared = ww_shared_memory() + 1280;
  unsigned v0;
  float v1, v2;
  v0 = tile * 64u + ww_thread();
  v1 = ww_arena_load_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + v0));
  v2 = ww_weights_load_f32(buffers, ww_extend(ww_thread()));
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 1u) + v0), ww_fused_multiply_add(v1, v2, 1.0f));
}

WW_KERNEL void k1(ww_buffers buffers, ww_fetched operands, unsigned tile) {
  unsigned char* const shared = ww_shared_memory() + 1280;
  unsigned v1;
  unsigned long long v0;
  float v2, v3, v4, v6;
  float r0[4];
  float* const s0 = (float*)(shared + 0);
  float* const s1 = (float*)(shared + 16);
  v0 = ww_extend(ww_fetched_word(operands, 0u)) + ww_extend((1u - tile) * 64u);
  v2 = ww_arena_load_f32(buffers, v0 + ww_extend(ww_thread()));
  ww_shared_store_f32(s1, ww_thread(), v2);
  v3 = ww_shuffle_xor(v2, 16u);
  v2 = ww_maximum(v2, v3);
  v3 = ww_shuffle_xor(v2, 8u);
  v2 = ww_maximum(v2, v3);
  v3 = ww_shuffle_xor(v2, 4u);
  v2 = ww_maximum(v2, v3);
  v3 = ww_shuffle_xor(v2, 2u);
  v2 = ww_maximum(v2, v3);
  v3 = ww_shuffle_xor(v2, 1u);
  v2 = ww_maximum(v2, v3);
  if ((ww_thread() & 31u) == 0u) {
    ww_shared_store_f32(s0, ww_shift_right(ww_thread(), 5u), v2);
  }
  ww_barrier();
  #pragma unroll 1
  for (unsigned v5 = 0u; v5 < 2u; ++v5) {
    v3 = ww_shared_load_f32(s0, v5);
    v2 = ww_maximum(v2, v3);
  }
  v1 = ww_fast_divide(ww_thread(), ww_fetched_word(operands, 2u), ww_fetched_word(operands, 3u));
  ww_shared_load4_f32(r0, s1, v1 * 4u);
  v4 = 0.0f;
  #pragma unroll
  for (unsigned v5 = 0u; v5 < 4u; ++v5) {
    v4 = v4 + r0[v5];
  }
  v1 = ww_fetched_word(operands, 1u) + tile * 64u + ww_thread();
  v6 = ww_arena_load_f32(buffers, ww_extend(v1));
  ww_arena_store_f32(buffers, ww_extend(v1), v6 + (v4 + v2));
}

extern "C" __global__ void __launch_bounds__(64, 1) warpweave_persistent(ww_arguments arguments) {
  unsigned char* const shared = ww_shared_memory();
  ww_buffers const buffers = arguments.buffers;
  bool v6, v7;
  unsigned v0, v1, v2, v3, v4, v5, v8, v9;
  unsigned r0[4];
  unsigned* const s0 = (unsigned*)(shared + 0);
  unsigned* const s1 = (unsigned*)(shared + 1024);
  v0 = ww_load_control(arguments, ww_epoch);
  v1 = ww_table(arguments.stream_start, ww_block() * 2u + 0u);
  v4 = ww_table(arguments.stream_start, ww_block() * 2u + 1u);
  ww_fetch<64, 64>(s0 + (((v1 & (-16u)) + 0u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 0u) * 4u);
  ww_fetch<64, 64>(s0 + (((v1 & (-16u)) + 16u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 16u) * 4u);
  ww_fetch<32, 64>(s1 + 0u, arguments.operands, v4);
  ww_async_commit();
  v5 = 0u;
  ww_async_wait<0>();
  ww_barrier();
  ww_shared_load4_i32(r0, s0, (v1 & 63u) * 4u);
  ww_fetch<64, 64>(s0 + (((v1 & (-16u)) + 32u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 32u) * 4u);
  ww_async_commit();
  for (;;) {
    v2 = v1 + 1u;
    if (!((int)r0[0] < 3)) {
      ww_fetch<32, 64>(s1 + 32u - v5, arguments.operands, r0[1]);
      ww_async_commit();
      if (r0[0] - 3u < 1u) {
        k0(buffers, ww_fetched_at(s1 + v5), r0[2]);
      } else {
        if (r0[0] - 3u < 2u) {
          k1(buffers, ww_fetched_at(s1 + v5), r0[2]);
        }
      }
      v4 = r0[1];
      v5 = 32u - v5;
      v3 = v2;
      ww_shared_load4_i32(r0, s0, (v2 & 63u) * 4u);
      ww_async_wait<0>();
      ww_barrier();
    } else {
      v3 = v2;
      if (r0[0] < 1u) {
        break;
      } else {
        if (r0[0] < 2u) {
          v6 = true;
          if (ww_thread() == 0u) {
            v6 = ww_wait_acquire(arguments, r0[1], (v0 - 1u) * r0[2] + r0[3], v1);
          }
          v7 = ww_barrier_or(!v6);
          if (v7) {
            break;
          }
        } else {
          if (r0[0] < 3u) {
            if (ww_thread() == 0u) {
              ww_signal_release(arguments, r0[1]);
            }
          }
        }
      }
      ww_shared_load4_i32(r0, s0, (v2 & 63u) * 4u);
    }
    if (!(ww_shift_right(v1 ^ v3, 4u) == 0u)) {
      v1 = v3;
      ww_async_wait<0>();
      ww_barrier();
      ww_shared_load4_i32(r0, s0, (v1 & 63u) * 4u);
      ww_fetch<64, 64>(s0 + (((v1 & (-16u)) + 32u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 32u) * 4u);
      ww_async_commit();
    } else {
      v1 = v3;
    }
  }
  ww_async_wait<0>();
  if (ww_thread() == 0u) {
    v8 = ww_add_control(arguments, ww_left, 1u);
    if (v8 + 1u == v0 * ww_grid()) {
      v9 = ww_load_control(arguments, ww_abort);
      if (v9 == 0u) {
        ww_store_control(arguments, ww_epoch, v0 + 1u);
      }
    }
  }
}
