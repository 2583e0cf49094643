// bf16 panels: two columns are multiplied at once. Included by kernels.h where the vectors can do that.
INLINE uint16_t convert(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 64); // not a number stays one
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define ELEMENT uint16_t
#define STEP 2
#ifdef OWN_TILES_FILE
#define TILE_ROWS 32
#define K_MULTIPLE 32
#else
#define TILE_ROWS TILE_TOKENS
#define K_MULTIPLE 2
#define WEIGHTS BF16_VECTOR
#define LOAD_WEIGHTS(p) LOAD_BF16(p)
#define SPREAD(p) SPREAD_BF16(p)
#define MULTIPLY_ADD(sum, w, x) DOT_BF16(sum, w, x)
#endif
#define PAIRED uint32_t
