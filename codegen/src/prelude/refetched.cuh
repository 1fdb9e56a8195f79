// For kernels that would need more registers than there are: a word is fetched wherever it is used, so that none is kept.
WW_FUNCTION ww_u32 ww_refetched_word(ww_fetched words, ww_u32 index) {
  ww_u32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(words + 4u * index));
  return word;
}
#define ww_fetched_word ww_refetched_word

