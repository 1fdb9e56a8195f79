WW_KERNEL void k0(ww_buffers buffers, ww_fetched operands, unsigned tile) {
  unsigned char* const shared = ww_shared_memory() + 128;
  unsigned v0;
  float v1, v2;
  v0 = tile * 64u + ww_thread();
  v1 = ww_arena_load_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + v0));
  v2 = ww_weights_load_f32(buffers, ww_extend(ww_thread()));
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 1u) + v0), ww_fused_multiply_add(v1, v2, 1.0f));
}

WW_KERNEL void k1(ww_buffers buffers, ww_fetched operands, unsigned tile) {
  unsigned char* const shared = ww_shared_memory() + 128;
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

extern "C" __global__ void __launch_bounds__(64, 1) warpweave_k0(ww_node_arguments arguments) {
  unsigned char* const shared = ww_shared_memory();
  ww_buffers const buffers = arguments.buffers;
  unsigned* const s0 = (unsigned*)(shared + 0);
  ww_fetch<32, 64>(s0 + 0u, arguments.operands, arguments.first_operand);
  ww_async_commit();
  ww_async_wait<0>();
  ww_barrier();
  ww_dependency_wait();
  ww_dependent_launch();
  k0(buffers, ww_fetched_at(s0 + 0u), ww_block());
}

extern "C" __global__ void __launch_bounds__(64, 1) warpweave_k1(ww_node_arguments arguments) {
  unsigned char* const shared = ww_shared_memory();
  ww_buffers const buffers = arguments.buffers;
  unsigned* const s0 = (unsigned*)(shared + 0);
  ww_fetch<32, 64>(s0 + 0u, arguments.operands, arguments.first_operand);
  ww_async_commit();
  ww_async_wait<0>();
  ww_barrier();
  ww_dependency_wait();
  ww_dependent_launch();
  k1(buffers, ww_fetched_at(s0 + 0u), ww_block());
}
