// AVX-512: f32 panels of 32 rows.
#include <immintrin.h>
#include "avx512.h"
#include "cpu-supports.h"
#include "kernels.h"

EXPORT int hone_supported(void) { return hasAvx512f(); }
EXPORT int hone_preferred(void) { return 1; }
EXPORT int hone_speedup(void) { return 1; }
