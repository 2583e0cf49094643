// The vectors of both AVX-512 files: 24 of 32 registers hold a tile's results.
#define VECTOR __m512
#define VECTOR_FLOATS 16
#define TILE_TOKENS 12
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ZERO() _mm512_setzero_ps()
#define SPREAD_FLOAT(p) _mm512_set1_ps(*(p))
#define MAXIMUM(a, b) _mm512_max_ps(a, b)
#define MINIMUM(a, b) _mm512_min_ps(a, b)
#define FUSED(sum, w, x) _mm512_fmadd_ps(w, x, sum)
