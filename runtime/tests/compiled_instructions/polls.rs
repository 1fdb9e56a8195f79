//! Blocks that wait for one another, and the time that passes meanwhile.

use warpweave_runtime::sass::execute::grid::ExecuteOptions;

use crate::harness::{Kernels, TARGETS};

/// Block 0 looks twice, again and again, at words that no block writes, computes between, and says at last that it has ended. Block 1 waits
/// for that, ten seconds at most, and writes 1, or 2 where it gave up.
const BODY: &str = "unsigned v, x = lane; \
    if (blockIdx.x == 0) { \
        for (int i = 0; i < 400; ++i) { \
            asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(in) : \"memory\"); x += v; \
            asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(in + 1) : \"memory\"); x += v; \
            _Pragma(\"unroll 1\") for (int j = 0; j < 20000; ++j) asm volatile(\"mad.lo.u32 %0, %0, 5, 7;\" : \"+r\"(x)); \
        } \
        asm volatile(\"st.release.gpu.global.u32 [%0], %1;\" :: \"l\"(out + 1), \"r\"(x | 1) : \"memory\"); \
    } else { \
        unsigned long long now, start; \
        asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(start)); \
        do { \
            asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(out + 1) : \"memory\"); \
            asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now)); \
        } while (v == 0 && now - start < 10000000000ull); \
        out[0] = v == 0 ? 2 : 1; \
    }";

#[test]
fn time_passes_only_while_no_block_goes_on() {
    for target in TARGETS {
        let kernels = Kernels::compile(target, &[BODY.to_owned()]);
        let found = kernels.launch(0, 2, &[3, 4], 2, &ExecuteOptions::default());
        assert_eq!(found.unwrap_or_else(|error| panic!("{error}"))[0], 1, "{target}");
    }
}
