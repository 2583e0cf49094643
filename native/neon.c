// NEON (every 64-bit ARM): f32 panels of 8 rows.
#include <arm_neon.h>

#define VECTOR float32x4_t
#define VECTOR_FLOATS 4
#define TILE_TOKENS 12
#define LOAD(p) vld1q_f32(p)
#define STORE(p, v) vst1q_f32(p, v)
#define ZERO() vdupq_n_f32(0)
#define SPREAD_FLOAT(p) vld1q_dup_f32(p)
#define MAXIMUM(a, b) vmaxq_f32(a, b)
#define MINIMUM(a, b) vminq_f32(a, b)
#define FUSED(sum, w, x) vfmaq_f32(sum, w, x)
#include "kernels.h"

EXPORT int hone_supported(void) { return 1; }
EXPORT int hone_preferred(void) { return 1; }
EXPORT int hone_speedup(void) { return 1; }
