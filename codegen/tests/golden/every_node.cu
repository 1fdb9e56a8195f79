WW_KERNEL unsigned k0(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  bool v0;
  unsigned v1;
  unsigned long long v2;
  float v3;
  v0 = ww_arena_load_bool(buffers, ww_extend(0u + ww_thread()));
  ww_arena_store_bool(buffers, ww_extend(1024u + ww_thread()), v0);
  v1 = ww_arena_load_i32(buffers, ww_extend(0u + ww_thread()));
  ww_arena_store_i32(buffers, ww_extend(1152u + ww_thread()), v1);
  v2 = ww_arena_load_i64(buffers, ww_extend(0u + ww_thread()));
  ww_arena_store_i64(buffers, ww_extend(1280u + ww_thread()), v2);
  v3 = ww_arena_load_f32(buffers, ww_extend(0u + ww_thread()));
  ww_arena_store_f32(buffers, ww_extend(1408u + ww_thread()), v3);
  v0 = false;
  ww_arena_store_bool(buffers, ww_extend(1536u + ww_thread()), v0);
  v1 = -2147483648u;
  ww_arena_store_i32(buffers, ww_extend(1664u + ww_thread()), v1);
  v2 = -2ull;
  ww_arena_store_i64(buffers, ww_extend(1792u + ww_thread()), v2);
  v3 = -0.0f;
  ww_arena_store_f32(buffers, ww_extend(1920u + ww_thread()), v3);
  v3 = ww_f32_of_bits(0x7fc00001u);
  ww_arena_store_f32(buffers, ww_extend(2048u + ww_thread()), v3);
  v3 = 0x0.000002p-126f;
  ww_arena_store_f32(buffers, ww_extend(2176u + ww_thread()), v3);
  v1 = ww_thread();
  ww_arena_store_i32(buffers, ww_extend(2304u + ww_thread()), v1);
  v1 = ww_block();
  ww_arena_store_i32(buffers, ww_extend(2432u + ww_thread()), v1);
  v1 = ww_grid();
  ww_arena_store_i32(buffers, ww_extend(2560u + ww_thread()), v1);
  v1 = ww_fetched_word(operands, 7u);
  ww_arena_store_i32(buffers, ww_extend(2688u + ww_thread()), v1);
  v1 = tile;
  ww_arena_store_i32(buffers, ww_extend(2816u + ww_thread()), v1);
  v1 = ww_fast_divide(v1, ww_fetched_word(operands, 3u), ww_fetched_word(operands, 4u));
  ww_arena_store_i32(buffers, ww_extend(2944u + ww_thread()), v1);
  v1 = -v1;
  ww_arena_store_i32(buffers, ww_extend(3072u + ww_thread()), v1);
  v2 = -v2;
  ww_arena_store_i64(buffers, ww_extend(3200u + ww_thread()), v2);
  v3 = -v3;
  ww_arena_store_f32(buffers, ww_extend(3328u + ww_thread()), v3);
  v1 = ww_absolute(v1);
  ww_arena_store_i32(buffers, ww_extend(3456u + ww_thread()), v1);
  v2 = ww_absolute(v2);
  ww_arena_store_i64(buffers, ww_extend(3584u + ww_thread()), v2);
  v3 = ww_absolute(v3);
  ww_arena_store_f32(buffers, ww_extend(3712u + ww_thread()), v3);
  v0 = !v0;
  ww_arena_store_bool(buffers, ww_extend(3840u + ww_thread()), v0);
  v3 = ww_exp(v3);
  ww_arena_store_f32(buffers, ww_extend(3968u + ww_thread()), v3);
  v3 = ww_log(v3);
  ww_arena_store_f32(buffers, ww_extend(4096u + ww_thread()), v3);
  v3 = ww_sqrt(v3);
  ww_arena_store_f32(buffers, ww_extend(4224u + ww_thread()), v3);
  v3 = ww_tanh(v3);
  ww_arena_store_f32(buffers, ww_extend(4352u + ww_thread()), v3);
  v3 = ww_logistic(v3);
  ww_arena_store_f32(buffers, ww_extend(4480u + ww_thread()), v3);
  v3 = ww_erf(v3);
  ww_arena_store_f32(buffers, ww_extend(4608u + ww_thread()), v3);
  v3 = ww_sin(v3);
  ww_arena_store_f32(buffers, ww_extend(4736u + ww_thread()), v3);
  v3 = ww_cos(v3);
  ww_arena_store_f32(buffers, ww_extend(4864u + ww_thread()), v3);
  v3 = ww_floor(v3);
  ww_arena_store_f32(buffers, ww_extend(4992u + ww_thread()), v3);
  v3 = ww_ceil(v3);
  ww_arena_store_f32(buffers, ww_extend(5120u + ww_thread()), v3);
  v3 = ww_round_even(v3);
  ww_arena_store_f32(buffers, ww_extend(5248u + ww_thread()), v3);
  v1 = ww_bits_of_f32(v3);
  ww_arena_store_i32(buffers, ww_extend(5376u + ww_thread()), v1);
  v3 = ww_f32_of_bits(v1);
  ww_arena_store_f32(buffers, ww_extend(5504u + ww_thread()), v3);
  v1 = v1 + v1;
  ww_arena_store_i32(buffers, ww_extend(5632u + ww_thread()), v1);
  v2 = v2 + v2;
  ww_arena_store_i64(buffers, ww_extend(5760u + ww_thread()), v2);
  v3 = v3 + v3;
  ww_arena_store_f32(buffers, ww_extend(5888u + ww_thread()), v3);
  v1 = v1 - v1;
  ww_arena_store_i32(buffers, ww_extend(6016u + ww_thread()), v1);
  v2 = v2 - v2;
  ww_arena_store_i64(buffers, ww_extend(6144u + ww_thread()), v2);
  v3 = v3 - v3;
  ww_arena_store_f32(buffers, ww_extend(6272u + ww_thread()), v3);
  v1 = v1 * v1;
  ww_arena_store_i32(buffers, ww_extend(6400u + ww_thread()), v1);
  v2 = v2 * v2;
  ww_arena_store_i64(buffers, ww_extend(6528u + ww_thread()), v2);
  v3 = v3 * v3;
  ww_arena_store_f32(buffers, ww_extend(6656u + ww_thread()), v3);
  v1 = ww_divide(v1, v1);
  ww_arena_store_i32(buffers, ww_extend(6784u + ww_thread()), v1);
  v2 = ww_divide(v2, v2);
  ww_arena_store_i64(buffers, ww_extend(6912u + ww_thread()), v2);
  v3 = ww_divide(v3, v3);
  ww_arena_store_f32(buffers, ww_extend(7040u + ww_thread()), v3);
  v1 = ww_minimum(v1, v1);
  ww_arena_store_i32(buffers, ww_extend(7168u + ww_thread()), v1);
  v2 = ww_minimum(v2, v2);
  ww_arena_store_i64(buffers, ww_extend(7296u + ww_thread()), v2);
  v3 = ww_minimum(v3, v3);
  ww_arena_store_f32(buffers, ww_extend(7424u + ww_thread()), v3);
  v1 = ww_maximum(v1, v1);
  ww_arena_store_i32(buffers, ww_extend(7552u + ww_thread()), v1);
  v2 = ww_maximum(v2, v2);
  ww_arena_store_i64(buffers, ww_extend(7680u + ww_thread()), v2);
  v3 = ww_maximum(v3, v3);
  ww_arena_store_f32(buffers, ww_extend(7808u + ww_thread()), v3);
  v1 = ww_power(v1, v1);
  ww_arena_store_i32(buffers, ww_extend(7936u + ww_thread()), v1);
  v2 = ww_power(v2, v2);
  ww_arena_store_i64(buffers, ww_extend(8064u + ww_thread()), v2);
  v3 = ww_power(v3, v3);
  ww_arena_store_f32(buffers, ww_extend(8192u + ww_thread()), v3);
  v1 = ww_remainder(v1, v1);
  ww_arena_store_i32(buffers, ww_extend(8320u + ww_thread()), v1);
  v2 = ww_remainder(v2, v2);
  ww_arena_store_i64(buffers, ww_extend(8448u + ww_thread()), v2);
  v3 = ww_remainder(v3, v3);
  ww_arena_store_f32(buffers, ww_extend(8576u + ww_thread()), v3);
  v1 = v1 & v1;
  ww_arena_store_i32(buffers, ww_extend(8704u + ww_thread()), v1);
  v2 = v2 & v2;
  ww_arena_store_i64(buffers, ww_extend(8832u + ww_thread()), v2);
  v1 = v1 ^ v1;
  ww_arena_store_i32(buffers, ww_extend(8960u + ww_thread()), v1);
  v2 = v2 ^ v2;
  ww_arena_store_i64(buffers, ww_extend(9088u + ww_thread()), v2);
  v1 = v1 << v1;
  ww_arena_store_i32(buffers, ww_extend(9216u + ww_thread()), v1);
  v2 = v2 << v2;
  ww_arena_store_i64(buffers, ww_extend(9344u + ww_thread()), v2);
  v1 = ww_shift_right(v1, v1);
  ww_arena_store_i32(buffers, ww_extend(9472u + ww_thread()), v1);
  v2 = ww_shift_right(v2, v2);
  ww_arena_store_i64(buffers, ww_extend(9600u + ww_thread()), v2);
  v0 = v0 < v0;
  ww_arena_store_bool(buffers, ww_extend(9728u + ww_thread()), v0);
  v0 = (int)v1 < (int)v1;
  ww_arena_store_bool(buffers, ww_extend(9856u + ww_thread()), v0);
  v0 = (long long)v2 < (long long)v2;
  ww_arena_store_bool(buffers, ww_extend(9984u + ww_thread()), v0);
  v0 = v3 < v3;
  ww_arena_store_bool(buffers, ww_extend(10112u + ww_thread()), v0);
  v0 = v0 <= v0;
  ww_arena_store_bool(buffers, ww_extend(10240u + ww_thread()), v0);
  v0 = (int)v1 <= (int)v1;
  ww_arena_store_bool(buffers, ww_extend(10368u + ww_thread()), v0);
  v0 = (long long)v2 <= (long long)v2;
  ww_arena_store_bool(buffers, ww_extend(10496u + ww_thread()), v0);
  v0 = v3 <= v3;
  ww_arena_store_bool(buffers, ww_extend(10624u + ww_thread()), v0);
  v0 = v0 == v0;
  ww_arena_store_bool(buffers, ww_extend(10752u + ww_thread()), v0);
  v0 = v1 == v1;
  ww_arena_store_bool(buffers, ww_extend(10880u + ww_thread()), v0);
  v0 = v2 == v2;
  ww_arena_store_bool(buffers, ww_extend(11008u + ww_thread()), v0);
  v0 = v3 == v3;
  ww_arena_store_bool(buffers, ww_extend(11136u + ww_thread()), v0);
  v0 = v0 & v0;
  ww_arena_store_bool(buffers, ww_extend(11264u + ww_thread()), v0);
  v0 = v0 | v0;
  ww_arena_store_bool(buffers, ww_extend(11392u + ww_thread()), v0);
  v1 = (v1 + (-3u)) * (v1 * v1);
  ww_arena_store_i32(buffers, ww_extend(11520u + ww_thread()), v1);
  v0 = -3 < (int)(v1 + v1);
  ww_arena_store_bool(buffers, ww_extend(11648u + ww_thread()), v0);
  v1 = ww_shift_right(v1 + v1, 2u);
  ww_arena_store_i32(buffers, ww_extend(11776u + ww_thread()), v1);
  v3 = ww_fused_multiply_add(v3, v3, v3);
  ww_arena_store_f32(buffers, ww_extend(11904u + ww_thread()), v3);
  v0 = v0 ? v0 : v0;
  ww_arena_store_bool(buffers, ww_extend(12032u + ww_thread()), v0);
  v0 = v0;
  ww_arena_store_bool(buffers, ww_extend(12160u + ww_thread()), v0);
  v1 = (unsigned)v0;
  ww_arena_store_i32(buffers, ww_extend(12288u + ww_thread()), v1);
  v2 = (unsigned long long)v0;
  ww_arena_store_i64(buffers, ww_extend(12416u + ww_thread()), v2);
  v3 = (float)v0;
  ww_arena_store_f32(buffers, ww_extend(12544u + ww_thread()), v3);
  v0 = ww_shuffle_xor(v0, 16u);
  ww_arena_store_bool(buffers, ww_extend(12672u + ww_thread()), v0);
  v0 = ww_shuffle(v0, 3u);
  ww_arena_store_bool(buffers, ww_extend(12800u + ww_thread()), v0);
  v1 = v0 ? v1 : v1;
  ww_arena_store_i32(buffers, ww_extend(12928u + ww_thread()), v1);
  v0 = v1 != 0u;
  ww_arena_store_bool(buffers, ww_extend(13056u + ww_thread()), v0);
  v1 = v1;
  ww_arena_store_i32(buffers, ww_extend(13184u + ww_thread()), v1);
  v2 = ww_extend(v1);
  ww_arena_store_i64(buffers, ww_extend(13312u + ww_thread()), v2);
  v3 = (float)(int)v1;
  ww_arena_store_f32(buffers, ww_extend(13440u + ww_thread()), v3);
  v1 = ww_shuffle_xor(v1, 16u);
  ww_arena_store_i32(buffers, ww_extend(13568u + ww_thread()), v1);
  v1 = ww_shuffle(v1, 3u);
  ww_arena_store_i32(buffers, ww_extend(13696u + ww_thread()), v1);
  v2 = v0 ? v2 : v2;
  ww_arena_store_i64(buffers, ww_extend(13824u + ww_thread()), v2);
  v0 = v2 != 0u;
  ww_arena_store_bool(buffers, ww_extend(13952u + ww_thread()), v0);
  v1 = (unsigned)v2;
  ww_arena_store_i32(buffers, ww_extend(14080u + ww_thread()), v1);
  v2 = v2;
  ww_arena_store_i64(buffers, ww_extend(14208u + ww_thread()), v2);
  v3 = (float)(long long)v2;
  ww_arena_store_f32(buffers, ww_extend(14336u + ww_thread()), v3);
  v2 = ww_shuffle_xor(v2, 16u);
  ww_arena_store_i64(buffers, ww_extend(14464u + ww_thread()), v2);
  v2 = ww_shuffle(v2, 3u);
  ww_arena_store_i64(buffers, ww_extend(14592u + ww_thread()), v2);
  v3 = v0 ? v3 : v3;
  ww_arena_store_f32(buffers, ww_extend(14720u + ww_thread()), v3);
  v0 = v3 != 0.0f;
  ww_arena_store_bool(buffers, ww_extend(14848u + ww_thread()), v0);
  v1 = ww_i32_of_f32(v3);
  ww_arena_store_i32(buffers, ww_extend(14976u + ww_thread()), v1);
  v2 = ww_i64_of_f32(v3);
  ww_arena_store_i64(buffers, ww_extend(15104u + ww_thread()), v2);
  v3 = v3;
  ww_arena_store_f32(buffers, ww_extend(15232u + ww_thread()), v3);
  v3 = ww_shuffle_xor(v3, 16u);
  ww_arena_store_f32(buffers, ww_extend(15360u + ww_thread()), v3);
  v3 = ww_shuffle(v3, 3u);
  ww_arena_store_f32(buffers, ww_extend(15488u + ww_thread()), v3);
  return 0u;
}

WW_KERNEL unsigned k1(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  ww_exchange const exchange = ww_exchange_of(launch);
  bool v0;
  unsigned v1, v2, v3, v7, v8;
  unsigned long long v4;
  float v5, v6;
  bool r0[8];
  unsigned r1[8];
  unsigned r2[8];
  unsigned r3[8];
  unsigned long long r4[8];
  float r5[8];
  float r6[2];
  unsigned char* const s0 = (unsigned char*)(shared + 0);
  signed char* const s1 = (signed char*)(shared + 32);
  unsigned char* const s2 = (unsigned char*)(shared + 64);
  unsigned* const s3 = (unsigned*)(shared + 96);
  unsigned long long* const s4 = (unsigned long long*)(shared + 176);
  float* const s5 = (float*)(shared + 336);
  r0[0] = false;
  r0[1] = false;
  r0[2] = false;
  r0[3] = false;
  r0[4] = false;
  r0[5] = false;
  r0[6] = false;
  r0[7] = false;
  v0 = ww_arena_load_bool(buffers, 8ull);
  ww_arena_store_bool(buffers, ww_extend(1024u + ww_thread()), v0);
  v0 = ww_weights_load_bool(buffers, 8ull);
  ww_arena_store_bool(buffers, ww_extend(1152u + ww_thread()), v0);
  v0 = ww_shared_load_bool(s0, 8u);
  ww_arena_store_bool(buffers, ww_extend(1280u + ww_thread()), v0);
  ww_arena_store_bool(buffers, ww_extend(tile), r0[0]);
  ww_shared_store_bool(s0, 8u, r0[0]);
  ww_arena_load2_bool(r0 + 6, buffers, 8ull);
  ww_weights_load2_bool(r0 + 6, buffers, 8ull);
  ww_shared_load2_bool(r0 + 6, s0, 8u);
  ww_arena_store2_bool(buffers, ww_extend(tile), r0[0], r0[1]);
  ww_shared_store2_bool(s0, 8u, r0[0], r0[1]);
  ww_arena_load4_bool(r0, buffers, 8ull);
  ww_weights_load4_bool(r0, buffers, 8ull);
  ww_shared_load4_bool(r0, s0, 8u);
  ww_arena_store4_bool(buffers, ww_extend(tile), r0[0], r0[1], r0[2], r0[3]);
  ww_shared_store4_bool(s0, 8u, r0[0], r0[1], r0[2], r0[3]);
  ww_arena_store_bool(buffers, ww_extend(tile), r0[7]);
  r1[0] = 0u;
  r1[1] = 0u;
  r1[2] = 0u;
  r1[3] = 0u;
  r1[4] = 0u;
  r1[5] = 0u;
  r1[6] = 0u;
  r1[7] = 0u;
  v1 = ww_arena_load_i8(buffers, 8ull);
  ww_arena_store_i32(buffers, ww_extend(1408u + ww_thread()), v1);
  v1 = ww_weights_load_i8(buffers, 8ull);
  ww_arena_store_i32(buffers, ww_extend(1536u + ww_thread()), v1);
  v1 = ww_shared_load_i8(s1, 8u);
  ww_arena_store_i32(buffers, ww_extend(1664u + ww_thread()), v1);
  ww_arena_store_i8(buffers, ww_extend(tile), r1[0]);
  ww_shared_store_i8(s1, 8u, r1[0]);
  ww_arena_load2_i8(r1 + 6, buffers, 8ull);
  ww_weights_load2_i8(r1 + 6, buffers, 8ull);
  ww_shared_load2_i8(r1 + 6, s1, 8u);
  ww_arena_store2_i8(buffers, ww_extend(tile), r1[0], r1[1]);
  ww_shared_store2_i8(s1, 8u, r1[0], r1[1]);
  ww_arena_load4_i8(r1, buffers, 8ull);
  ww_weights_load4_i8(r1, buffers, 8ull);
  ww_shared_load4_i8(r1, s1, 8u);
  ww_arena_store4_i8(buffers, ww_extend(tile), r1[0], r1[1], r1[2], r1[3]);
  ww_shared_store4_i8(s1, 8u, r1[0], r1[1], r1[2], r1[3]);
  ww_arena_store_i8(buffers, ww_extend(tile), r1[7]);
  r2[0] = 0u;
  r2[1] = 0u;
  r2[2] = 0u;
  r2[3] = 0u;
  r2[4] = 0u;
  r2[5] = 0u;
  r2[6] = 0u;
  r2[7] = 0u;
  v2 = ww_arena_load_u8(buffers, 8ull);
  ww_arena_store_i32(buffers, ww_extend(1792u + ww_thread()), v2);
  v2 = ww_weights_load_u8(buffers, 8ull);
  ww_arena_store_i32(buffers, ww_extend(1920u + ww_thread()), v2);
  v2 = ww_shared_load_u8(s2, 8u);
  ww_arena_store_i32(buffers, ww_extend(2048u + ww_thread()), v2);
  ww_arena_store_u8(buffers, ww_extend(tile), r2[0]);
  ww_shared_store_u8(s2, 8u, r2[0]);
  ww_arena_load2_u8(r2 + 6, buffers, 8ull);
  ww_weights_load2_u8(r2 + 6, buffers, 8ull);
  ww_shared_load2_u8(r2 + 6, s2, 8u);
  ww_arena_store2_u8(buffers, ww_extend(tile), r2[0], r2[1]);
  ww_shared_store2_u8(s2, 8u, r2[0], r2[1]);
  ww_arena_load4_u8(r2, buffers, 8ull);
  ww_weights_load4_u8(r2, buffers, 8ull);
  ww_shared_load4_u8(r2, s2, 8u);
  ww_arena_store4_u8(buffers, ww_extend(tile), r2[0], r2[1], r2[2], r2[3]);
  ww_shared_store4_u8(s2, 8u, r2[0], r2[1], r2[2], r2[3]);
  ww_arena_store_u8(buffers, ww_extend(tile), r2[7]);
  r3[0] = 0u;
  r3[1] = 0u;
  r3[2] = 0u;
  r3[3] = 0u;
  r3[4] = 0u;
  r3[5] = 0u;
  r3[6] = 0u;
  r3[7] = 0u;
  v3 = ww_arena_load_i32(buffers, 8ull);
  ww_arena_store_i32(buffers, ww_extend(2176u + ww_thread()), v3);
  v3 = ww_weights_load_i32(buffers, 8ull);
  ww_arena_store_i32(buffers, ww_extend(2304u + ww_thread()), v3);
  v3 = ww_shared_load_i32(s3, 8u);
  ww_arena_store_i32(buffers, ww_extend(2432u + ww_thread()), v3);
  ww_arena_store_i32(buffers, ww_extend(tile), r3[0]);
  ww_shared_store_i32(s3, 8u, r3[0]);
  ww_arena_load2_i32(r3 + 6, buffers, 8ull);
  ww_weights_load2_i32(r3 + 6, buffers, 8ull);
  ww_shared_load2_i32(r3 + 6, s3, 8u);
  ww_arena_store2_i32(buffers, ww_extend(tile), r3[0], r3[1]);
  ww_shared_store2_i32(s3, 8u, r3[0], r3[1]);
  ww_arena_load4_i32(r3, buffers, 8ull);
  ww_weights_load4_i32(r3, buffers, 8ull);
  ww_shared_load4_i32(r3, s3, 8u);
  ww_arena_store4_i32(buffers, ww_extend(tile), r3[0], r3[1], r3[2], r3[3]);
  ww_shared_store4_i32(s3, 8u, r3[0], r3[1], r3[2], r3[3]);
  ww_arena_store_i32(buffers, ww_extend(tile), r3[7]);
  r4[0] = 0ull;
  r4[1] = 0ull;
  r4[2] = 0ull;
  r4[3] = 0ull;
  r4[4] = 0ull;
  r4[5] = 0ull;
  r4[6] = 0ull;
  r4[7] = 0ull;
  v4 = ww_arena_load_i64(buffers, 8ull);
  ww_arena_store_i64(buffers, ww_extend(2560u + ww_thread()), v4);
  v4 = ww_weights_load_i64(buffers, 8ull);
  ww_arena_store_i64(buffers, ww_extend(2688u + ww_thread()), v4);
  v4 = ww_shared_load_i64(s4, 8u);
  ww_arena_store_i64(buffers, ww_extend(2816u + ww_thread()), v4);
  ww_arena_store_i64(buffers, ww_extend(tile), r4[0]);
  ww_shared_store_i64(s4, 8u, r4[0]);
  ww_arena_load2_i64(r4 + 6, buffers, 8ull);
  ww_weights_load2_i64(r4 + 6, buffers, 8ull);
  ww_shared_load2_i64(r4 + 6, s4, 8u);
  ww_arena_store2_i64(buffers, ww_extend(tile), r4[0], r4[1]);
  ww_shared_store2_i64(s4, 8u, r4[0], r4[1]);
  ww_arena_load4_i64(r4, buffers, 8ull);
  ww_weights_load4_i64(r4, buffers, 8ull);
  ww_shared_load4_i64(r4, s4, 8u);
  ww_arena_store4_i64(buffers, ww_extend(tile), r4[0], r4[1], r4[2], r4[3]);
  ww_shared_store4_i64(s4, 8u, r4[0], r4[1], r4[2], r4[3]);
  ww_arena_store_i64(buffers, ww_extend(tile), r4[7]);
  r5[0] = 0.0f;
  r5[1] = 0.0f;
  r5[2] = 0.0f;
  r5[3] = 0.0f;
  r5[4] = 0.0f;
  r5[5] = 0.0f;
  r5[6] = 0.0f;
  r5[7] = 0.0f;
  v5 = ww_arena_load_f32(buffers, 8ull);
  ww_arena_store_f32(buffers, ww_extend(2944u + ww_thread()), v5);
  v5 = ww_weights_load_f32(buffers, 8ull);
  ww_arena_store_f32(buffers, ww_extend(3072u + ww_thread()), v5);
  v5 = ww_shared_load_f32(s5, 8u);
  ww_arena_store_f32(buffers, ww_extend(3200u + ww_thread()), v5);
  ww_arena_store_f32(buffers, ww_extend(tile), r5[0]);
  ww_shared_store_f32(s5, 8u, r5[0]);
  ww_arena_load2_f32(r5 + 6, buffers, 8ull);
  ww_weights_load2_f32(r5 + 6, buffers, 8ull);
  ww_shared_load2_f32(r5 + 6, s5, 8u);
  ww_arena_store2_f32(buffers, ww_extend(tile), r5[0], r5[1]);
  ww_shared_store2_f32(s5, 8u, r5[0], r5[1]);
  ww_arena_load4_f32(r5, buffers, 8ull);
  ww_weights_load4_f32(r5, buffers, 8ull);
  ww_shared_load4_f32(r5, s5, 8u);
  ww_arena_store4_f32(buffers, ww_extend(tile), r5[0], r5[1], r5[2], r5[3]);
  ww_shared_store4_f32(s5, 8u, r5[0], r5[1], r5[2], r5[3]);
  ww_arena_store_f32(buffers, ww_extend(tile), r5[7]);
  r6[0] = 0.0f;
  r6[1] = 0.0f;
  v6 = ww_tagged_load(buffers, exchange, ww_extend(tile), 3u);
  ww_tagged_load2(r6, buffers, exchange, ww_extend(tile), 3u);
  ww_tagged_load_apart<2>(r6, buffers, exchange, ww_extend(tile), 16ull, 3u);
  ww_tagged_store(buffers, exchange, ww_extend(tile), 3u, v6);
  ww_tagged_store(buffers, exchange, ww_extend(tile), 3u, r6[1]);
  v7 = ww_check_index(buffers, tile, 5u, tile, 6ull);
  v8 = ww_check_index(buffers, -3ull, 5u, tile, 6ull);
  return 0u;
}

WW_KERNEL unsigned k2(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  float* const s0 = (float*)(shared + 0);
  ww_async_copy_arena<4>(s0 + 8u, buffers, ww_extend(tile), true);
  ww_async_copy_weights<4>(s0 + 8u, buffers, ww_extend(tile), true);
  ww_async_commit();
  ww_async_copy_arena<8>(s0 + 8u, buffers, ww_extend(tile), false);
  ww_async_copy_weights<8>(s0 + 8u, buffers, ww_extend(tile), false);
  ww_async_commit();
  ww_async_copy_arena<16>(s0 + 8u, buffers, ww_extend(tile), true);
  ww_async_copy_weights<16>(s0 + 8u, buffers, ww_extend(tile), true);
  ww_async_commit();
  ww_async_wait<1>();
  ww_async_wait<0>();
  return 0u;
}

WW_KERNEL unsigned k3(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  bool v3;
  unsigned v2;
  v2 = ww_arena_load_i32(buffers, ww_extend(0u + ww_thread()));
  v3 = ww_arena_load_bool(buffers, ww_extend(0u + ww_thread()));
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
  for (unsigned v0 = 0u; (int)v0 < (int)ww_fetched_word(operands, 2u); ++v0) {
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
    ww_barrier();
  }
  for (;;) {
    v3 = ww_barrier_or(v3);
    if (v2 < 1u) {
      v2 = v2 + 1u;
    } else {
      if (v2 < 2u) {
        break;
      } else {
        if (v2 < 3u) {
          if (v3) {
            break;
          }
        }
      }
    }
    for (;;) {
      break;
    }
  }
  ww_arena_store_i32(buffers, ww_extend(128u + ww_thread()), v2);
  return 0u;
}

WW_KERNEL unsigned k4(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  ww_exchange const exchange = ww_exchange_of(launch);
  ww_own_waits const waits = ww_waits_of(launch, ring, first, count);
  float r0[1];
  r0[0] = ww_weights_load_f32(buffers, ww_extend(tile));
  ww_hold(r0);
  if (ww_await_relaxed(exchange, waits)) return true;
  ww_arena_store_f32(buffers, ww_extend(tile), r0[0]);
  return 0u;
}

WW_KERNEL unsigned k5(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  ww_exchange const exchange = ww_exchange_of(launch);
  ww_own_waits const waits = ww_waits_of(launch, ring, first, count);
  float r0[1];
  r0[0] = ww_weights_load_f32(buffers, ww_extend(tile));
  ww_hold(r0);
  if (ww_await_acquire(exchange, waits)) return true;
  ww_arena_store_f32(buffers, ww_extend(tile), r0[0]);
  return 0u;
}

WW_KERNEL unsigned k6(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  ww_exchange const exchange = ww_exchange_of(launch);
  int const* table = ww_operands_of(launch, first_operand);
  ww_own_waits const waits = ww_waits_of(launch, ring, first, count);
  unsigned v0, v1, v2, v3;
  ww_u32 ahead[4];
  ww_table4(table, 0u, ahead[0], ahead[1], ahead[2], ahead[3]);
  for (ww_steps steps = ww_steps_of(waits);;) {
    v0 = ahead[0];
    v1 = ahead[1];
    v2 = ahead[2];
    v3 = ahead[3];
    ww_look_ahead(steps, waits);
    ww_barrier();
    ww_table4(ww_next_operands(steps, waits, table), 0u, ahead[0], ahead[1], ahead[2], ahead[3]);
    ww_arena_store_i32(buffers, ww_extend(0u + ww_thread()), v3);
    if (!ww_next_step_relaxed(exchange, waits, steps, table)) break;
  }
  return 0u;
}

WW_KERNEL unsigned k7(ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, ww_fetched ring, unsigned first, unsigned count) {
  unsigned char* const shared = ww_shared_memory() + 4192;
  ww_buffers const buffers = ww_buffers_of(launch);
  ww_exchange const exchange = ww_exchange_of(launch);
  int const* table = ww_operands_of(launch, first_operand);
  ww_own_waits const waits = ww_waits_of(launch, ring, first, count);
  unsigned v0, v1, v2, v3;
  ww_u32 ahead[4];
  ww_table4(table, 0u, ahead[0], ahead[1], ahead[2], ahead[3]);
  for (ww_steps steps = ww_steps_of(waits);;) {
    v0 = ahead[0];
    v1 = ahead[1];
    v2 = ahead[2];
    v3 = ahead[3];
    ww_look_ahead(steps, waits);
    ww_barrier();
    ww_table4(ww_next_operands(steps, waits, table), 0u, ahead[0], ahead[1], ahead[2], ahead[3]);
    ww_arena_store_i32(buffers, ww_extend(0u + ww_thread()), v3);
    if (!ww_next_step_release(exchange, waits, steps, table)) break;
  }
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

extern "C" __global__ void __launch_bounds__(128, 1) warpweave_persistent(ww_arguments arguments) {
  ww_u32* const launch = (ww_u32*)ww_shared_memory();
  ww_keep_launch(launch, arguments);
  unsigned char* const shared = ww_shared_memory() + 80;
  ww_buffers const buffers = arguments.buffers;
  bool v2;
  unsigned v0, v1;
  unsigned* const s1 = (unsigned*)(shared + 16);
  v0 = ww_block();
  v1 = ww_block();
  k0(ww_fetched_at(launch), ww_fetched_at(s1 + 64u), v0, 3u, ww_fetched_at(s1 + 64u), 0u, 0u);
  k1(ww_fetched_at(launch), ww_fetched_at(s1 + 64u), v0, 3u, ww_fetched_at(s1 + 64u), 0u, 0u);
  k2(ww_fetched_at(launch), ww_fetched_at(s1 + 64u), v0, 3u, ww_fetched_at(s1 + 64u), 0u, 0u);
  k3(ww_fetched_at(launch), ww_fetched_at(s1 + 64u), v0, 3u, ww_fetched_at(s1 + 64u), 0u, 0u);
  v2 = ww_dispatch(v0, ww_fetched_at(launch), ww_fetched_at(s1 + 64u), v0, 3u, ww_fetched_at(s1), v0, 1u) != 0u;
  ww_fetch<4, 128>(s1 + 8u, arguments.stream_start, v0);
  v0 = ww_table(arguments.stream_start, v0);
  ww_fetch<64, 128>(s1 + 8u, arguments.instructions, v0);
  v0 = ww_table(arguments.instructions, v0);
  ww_fetch<516, 128>(s1 + 8u, arguments.operands, v0);
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
  v0 = (ww_u32)ww_time_ns();
  v0 = ww_multiprocessor();
  v0 = ww_cycles();
  v2 = ww_wait_relaxed(arguments, v0, v1, v0);
  v2 = ww_wait_acquire(arguments, v0, v1, v0);
  ww_signal_relaxed(arguments, v0);
  ww_signal_release(arguments, v0);
}
