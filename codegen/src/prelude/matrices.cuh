// The prelude's device body: matrices that the lanes of a warp hold together. All lanes of the warp take part.

// Loads are volatile with a memory clobber: stores and copies before them are ordinary writes of shared memory.
#define WW_DEFINE_MATRIX_LOADS(name, type, suffix, qualifier)                                                          \
  WW_FUNCTION void ww_load_matrices1##suffix##_##name(ww_u32* to, type const* array, int index) {                      \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" qualifier ".shared.b16 {%0}, [%1];"                                   \
                 : "=r"(to[0]) : "r"((ww_u32)__cvta_generic_to_shared(array + index)) : "memory");                     \
  }                                                                                                                    \
  WW_FUNCTION void ww_load_matrices2##suffix##_##name(ww_u32* to, type const* array, int index) {                      \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" qualifier ".shared.b16 {%0, %1}, [%2];"                               \
                 : "=r"(to[0]), "=r"(to[1]) : "r"((ww_u32)__cvta_generic_to_shared(array + index)) : "memory");        \
  }                                                                                                                    \
  WW_FUNCTION void ww_load_matrices4##suffix##_##name(ww_u32* to, type const* array, int index) {                      \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" qualifier ".shared.b16 {%0, %1, %2, %3}, [%4];"                       \
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])                                                  \
                 : "r"((ww_u32)__cvta_generic_to_shared(array + index)) : "memory");                                   \
  }

// Products are volatile, so that none moves to where some lanes do not arrive.
#define WW_DEFINE_MATRICES(name)                                                                                       \
  WW_DEFINE_MATRIX_LOADS(name, ww_##name, , "")                                                                        \
  WW_DEFINE_MATRIX_LOADS(name, ww_##name, _transposed, ".trans")                                                       \
  WW_FUNCTION void ww_multiply_matrices_##name(float* to, ww_u32 a, ww_u32 b, ww_u32 c, ww_u32 d, ww_u32 e, ww_u32 f,  \
                                               float p, float q, float r, float s) {                                   \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #name "." #name ".f32 "                                      \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                                 \
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])                                                  \
                 : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "f"(p), "f"(q), "f"(r), "f"(s));                    \
  }

WW_DEFINE_MATRICES(f16)
WW_DEFINE_MATRICES(bf16)
WW_DEFINE_MATRIX_LOADS(u16, unsigned short, , "")
WW_DEFINE_MATRIX_LOADS(u16, unsigned short, _transposed, ".trans")
