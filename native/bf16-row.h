#define BF16_ROW(to, from, k, low) bf16Row(to, from, k, low)

// Rounds k floats to the nearest bf16, ties to even; or, for the low part, what that rounding took away.
static inline void bf16Row(uint16_t *to, const float *from, int64_t k, int low) {
  for (int64_t i = 0; i < k; i += 16) {
    const int64_t left = k - i;
    const __mmask16 mask = left >= 16 ? 0xffff : (__mmask16)((1 << left) - 1);
    const __m512 values = _mm512_maskz_loadu_ps(mask, from + i);
    __m256bh rounded = _mm512_cvtneps_pbh(values);
    if (low) {
      const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)rounded), 16);
      rounded = _mm512_cvtneps_pbh(_mm512_sub_ps(values, _mm512_castsi512_ps(bits)));
    }
    _mm256_mask_storeu_epi16(to + i, mask, (__m256i)rounded);
  }
}
