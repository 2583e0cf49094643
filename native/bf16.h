// bf16 panels: two columns are multiplied at once. Included by kernels.h where the vectors can do that.
INLINE uint16_t toBf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 64); // not a number stays one
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

INLINE uint16_t lowBf16(float value) {
  const uint32_t bits = (uint32_t)toBf16(value) << 16;
  float high;
  memcpy(&high, &bits, sizeof high);
  return toBf16(value - high);
}

#define NAME(x) JOIN(own_, x)
#define ELEMENT uint16_t
#define STEP 2
#ifdef OWN_TILES_FILE
#define OWN_TILES
#define TILE_ROWS 32
#define K_MULTIPLE 32
#include OWN_TILES_FILE
#else
#define TILE_ROWS TILE_TOKENS
#define K_MULTIPLE 2
#endif
#define PAIRED uint32_t
#define WEIGHTS BF16_VECTOR
#define LOAD_WEIGHTS(p) LOAD_BF16(p)
#define SPREAD(p) SPREAD_BF16(p)
#define MULTIPLY_ADD(sum, w, x) DOT_BF16(sum, w, x)
#define CONVERT(v, low) ((low) ? lowBf16(v) : toBf16(v))
#define CONVERT_ROW(to, from, k, low) BF16_ROW((uint16_t *)(to), from, k, low)
#include "product.h"
