// Rounds k floats to the nearest bf16, ties to even.
static inline void convertRow(uint16_t *to, const float *from, int64_t k) {
  for (int64_t i = 0; i < k; i += 16) {
    const int64_t left = k - i;
    const __mmask16 mask = left >= 16 ? 0xffff : (__mmask16)((1 << left) - 1);
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
    _mm256_mask_storeu_epi16(to + i, mask, (__m256i)rounded);
  }
}
