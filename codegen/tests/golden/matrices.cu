WW_KERNEL unsigned k0(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_f16* const s0 = (ww_f16*)(shared + 0);
  ww_f16* const s1 = (ww_f16*)(shared + 512);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 0, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 32, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 64, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 96, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 128, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 160, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 192, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 224, v0);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 0, v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 32, v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 64, v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 96, v1);
  ww_warp_barrier();
  ww_load_matrices4_f16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u);
  ww_load_matrices1_transposed_f16(r1, s1, ((ww_shift_right(ww_thread(), 0u) & 7u) + 0u * 8u) * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  ww_load_matrices1_transposed_f16(r1 + 1, s1, ((ww_shift_right(ww_thread(), 0u) & 7u) + 1u * 8u) * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_f16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k1(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_f16* const s0 = (ww_f16*)(shared + 0);
  ww_f16* const s1 = (ww_f16*)(shared + 512);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 0, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 32, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 64, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 96, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 128, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 160, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 192, v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_f16(s0 + (int)ww_thread(), 224, v0);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 0, v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 32, v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 64, v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_f16(s1 + (int)ww_thread(), 96, v1);
  ww_warp_barrier();
  ww_load_matrices4_f16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u);
  ww_load_matrices2_transposed_f16(r1, s1, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u) * 8u + (ww_shift_right(ww_thread(), 4u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_f16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k2(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_f16* const s0 = (ww_f16*)(shared + 0);
  ww_f16* const s1 = (ww_f16*)(shared + 512);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 0u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 0u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 32u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 32u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 64u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 64u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 96u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 96u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 128u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 128u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 160u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 160u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 192u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 192u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 224u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 224u, 4u) & 31u), v0);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 0u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 0u, 3u) & 31u), v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 32u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 32u, 3u) & 31u), v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 64u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 64u, 3u) & 31u), v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 96u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 96u, 3u) & 31u), v1);
  ww_warp_barrier();
  ww_load_matrices4_transposed_f16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u);
  ww_load_matrices1_f16(r1, s1, (ww_shift_right(ww_thread(), 0u) & 7u) * 16u + 0u * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  ww_load_matrices1_f16(r1 + 1, s1, (ww_shift_right(ww_thread(), 0u) & 7u) * 16u + 1u * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_f16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k3(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_f16* const s0 = (ww_f16*)(shared + 0);
  ww_f16* const s1 = (ww_f16*)(shared + 512);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 0u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 0u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 32u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 32u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 64u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 64u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 96u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 96u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 128u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 128u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 160u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 160u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 192u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 192u, 4u) & 31u), v0);
  v0 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_f16(s0, (ww_shift_right(ww_thread() + 224u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 224u, 4u) & 31u), v0);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 0u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 0u, 3u) & 31u), v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 32u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 32u, 3u) & 31u), v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 64u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 64u, 3u) & 31u), v1);
  v1 = ww_weights_load_f16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_f16(s1, (ww_shift_right(ww_thread() + 96u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 96u, 3u) & 31u), v1);
  ww_warp_barrier();
  ww_load_matrices4_transposed_f16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u);
  ww_load_matrices2_f16(r1, s1, (ww_shift_right(ww_thread(), 0u) & 7u) * 16u + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u + (ww_shift_right(ww_thread(), 4u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_f16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k4(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_bf16* const s0 = (ww_bf16*)(shared + 0);
  ww_bf16* const s1 = (ww_bf16*)(shared + 512);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 0, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 32, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 64, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 96, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 128, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 160, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 192, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 224, v0);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 0, v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 32, v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 64, v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 96, v1);
  ww_warp_barrier();
  ww_load_matrices4_bf16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u);
  ww_load_matrices1_transposed_bf16(r1, s1, ((ww_shift_right(ww_thread(), 0u) & 7u) + 0u * 8u) * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  ww_load_matrices1_transposed_bf16(r1 + 1, s1, ((ww_shift_right(ww_thread(), 0u) & 7u) + 1u * 8u) * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_bf16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k5(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_bf16* const s0 = (ww_bf16*)(shared + 0);
  ww_bf16* const s1 = (ww_bf16*)(shared + 512);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 0, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 32, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 64, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 96, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 128, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 160, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 192, v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_bf16(s0 + (int)ww_thread(), 224, v0);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 0, v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 32, v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 64, v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_bf16(s1 + (int)ww_thread(), 96, v1);
  ww_warp_barrier();
  ww_load_matrices4_bf16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u);
  ww_load_matrices2_transposed_bf16(r1, s1, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u) * 8u + (ww_shift_right(ww_thread(), 4u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_bf16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k6(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_bf16* const s0 = (ww_bf16*)(shared + 0);
  ww_bf16* const s1 = (ww_bf16*)(shared + 512);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 0u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 0u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 32u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 32u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 64u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 64u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 96u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 96u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 128u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 128u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 160u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 160u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 192u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 192u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 224u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 224u, 4u) & 31u), v0);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 0u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 0u, 3u) & 31u), v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 32u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 32u, 3u) & 31u), v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 64u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 64u, 3u) & 31u), v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 96u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 96u, 3u) & 31u), v1);
  ww_warp_barrier();
  ww_load_matrices4_transposed_bf16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u);
  ww_load_matrices1_bf16(r1, s1, (ww_shift_right(ww_thread(), 0u) & 7u) * 16u + 0u * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  ww_load_matrices1_bf16(r1 + 1, s1, (ww_shift_right(ww_thread(), 0u) & 7u) * 16u + 1u * 8u + (ww_shift_right(ww_thread(), 3u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_bf16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

WW_KERNEL unsigned k7(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 1360;
  ww_buffers const buffers = ww_buffers_of(launch);
  unsigned v2;
  float v0, v1;
  unsigned r0[4];
  unsigned r1[2];
  float r2[4];
  ww_bf16* const s0 = (ww_bf16*)(shared + 0);
  ww_bf16* const s1 = (ww_bf16*)(shared + 512);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 0u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 0u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 32u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 32u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 64u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 64u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 96u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 96u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 128ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 128u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 128u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 160ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 160u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 160u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 192ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 192u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 192u, 4u) & 31u), v0);
  v0 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 224ull + 0ull);
  ww_shared_store_bf16(s0, (ww_shift_right(ww_thread() + 224u, 0u) & 15u) * 16u + (ww_shift_right(ww_thread() + 224u, 4u) & 31u), v0);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 0ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 0u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 0u, 3u) & 31u), v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 32ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 32u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 32u, 3u) & 31u), v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 64ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 64u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 64u, 3u) & 31u), v1);
  v1 = ww_weights_load_bf16(buffers, ww_extend(ww_thread()) + 96ull + 256ull);
  ww_shared_store_bf16(s1, (ww_shift_right(ww_thread() + 96u, 0u) & 7u) * 16u + (ww_shift_right(ww_thread() + 96u, 3u) & 31u), v1);
  ww_warp_barrier();
  ww_load_matrices4_transposed_bf16(r0, s0, ((ww_shift_right(ww_thread(), 0u) & 7u) + (ww_shift_right(ww_thread(), 4u) & 1u) * 8u) * 16u + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u);
  ww_load_matrices2_bf16(r1, s1, (ww_shift_right(ww_thread(), 0u) & 7u) * 16u + (ww_shift_right(ww_thread(), 3u) & 1u) * 8u + (ww_shift_right(ww_thread(), 4u) & 3u) * 12345u);
  v2 = (ww_shift_right(ww_thread(), 2u) & 7u) * 8u + (ww_shift_right(ww_thread(), 0u) & 3u) * 2u;
  r2[0] = ww_weights_load_f32(buffers, ww_extend(v2) + 0ull + 192ull);
  r2[1] = ww_weights_load_f32(buffers, ww_extend(v2) + 1ull + 192ull);
  r2[2] = ww_weights_load_f32(buffers, ww_extend(v2) + 64ull + 192ull);
  r2[3] = ww_weights_load_f32(buffers, ww_extend(v2) + 65ull + 192ull);
  ww_multiply_matrices_bf16(r2, r0[0], r0[1], r0[2], r0[3], r1[0], r1[1], r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 0u)), r2[0]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 1u)), r2[1]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 64u)), r2[2]);
  ww_arena_store_f32(buffers, ww_extend(ww_fetched_word(operands, 0u) + (v2 + 65u)), r2[3]);
  return 0u;
}

#if defined(WW_LINKED)
__constant__ unsigned (*ww_kernels[])(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) = {k0, k1, k2, k3, k4, k5, k6, k7};
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
    case 2u: return k2(launch, operands, first_operand, tile, ring, first, count);
    case 3u: return k3(launch, operands, first_operand, tile, ring, first, count);
    case 4u: return k4(launch, operands, first_operand, tile, ring, first, count);
    case 5u: return k5(launch, operands, first_operand, tile, ring, first, count);
    case 6u: return k6(launch, operands, first_operand, tile, ring, first, count);
    case 7u: return k7(launch, operands, first_operand, tile, ring, first, count);
    default: return 0u;
  }
}
#endif

extern "C" __global__ void __launch_bounds__(32, 1) warpweave_persistent(ww_arguments arguments) {
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
  ww_fetch<64, 32>(s0 + (((v1 & (-16u)) + 0u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 0u) * 4u);
  ww_fetch<64, 32>(s0 + (((v1 & (-16u)) + 16u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 16u) * 4u);
  ww_fetch<32, 32>(s1 + 0u, arguments.operands, v4);
  ww_async_commit();
  v5 = 0u;
  ww_async_wait<0>();
  ww_barrier();
  ww_shared_load4_i32(r0, s0, (v1 & 63u) * 4u);
  ww_fetch<64, 32>(s0 + (((v1 & (-16u)) + 32u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 32u) * 4u);
  ww_async_commit();
  for (;;) {
    v2 = v1 + 1u;
    if (!((int)r0[0] < 3)) {
      ww_fetch<32, 32>(s1 + 32u - v5, arguments.operands, r0[1]);
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
      ww_fetch<64, 32>(s0 + (((v1 & (-16u)) + 32u) & 63u) * 4u, arguments.instructions, ((v1 & (-16u)) + 32u) * 4u);
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
