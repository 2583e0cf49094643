// AVX2 with FMA: f32 panels of 16 rows; twelve of sixteen registers hold a tile's results.
#include <immintrin.h>
#include "cpu-supports.h"

#define VECTOR __m256
#define VECTOR_FLOATS 8
#define TILE_TOKENS 6
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define ZERO() _mm256_setzero_ps()
#define SPREAD_FLOAT(p) _mm256_broadcast_ss(p)
#define MAXIMUM(a, b) _mm256_max_ps(a, b)
#define MINIMUM(a, b) _mm256_min_ps(a, b)
#define FUSED(sum, w, x) _mm256_fmadd_ps(w, x, sum)
#include "kernels.h"

EXPORT int hone_supported(void) { return hasAvx2Fma(); }
EXPORT int hone_preferred(void) { return 1; }
EXPORT int hone_speedup(void) { return 1; }
