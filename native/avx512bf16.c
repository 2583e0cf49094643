// AVX-512 with BF16: panels of 32 rows in bf16, sums in f32.
#include <immintrin.h>
#include <stdint.h>
#include "avx512.h"
#include "bf16-row.h"
#include "cpu-supports.h"

#define ROUNDED
#define BF16_VECTOR __m512i
#define LOAD_BF16(p) _mm512_loadu_si512(p)
#define SPREAD_BF16(p) _mm512_set1_epi32((int)*(p))
#define DOT_BF16(sum, w, x) _mm512_dpbf16_ps(sum, (__m512bh)(w), (__m512bh)(x))

#include "kernels.h"

EXPORT int hone_supported(void) { return hasAvx512Bf16(); }

// Intel's processors take two cycles for an instruction: there f32 with AVX-512 is twice as fast.
EXPORT int hone_preferred(void) { return !isIntel(); }
EXPORT int hone_speedup(void) { return 2; }
