// f32 panels, for instruction sets without a faster product of rounded numbers.
#define ELEMENT float
#define STEP 1
#define TILE_ROWS TILE_TOKENS
#define K_MULTIPLE 1
#define PAIRED float
#define WEIGHTS VECTOR
#define LOAD_WEIGHTS(p) LOAD(p)
#define SPREAD(p) SPREAD_FLOAT(p)
#define MULTIPLY_ADD(sum, w, x) FUSED(sum, w, x)
INLINE float convert(float value) { return value; }
INLINE void convertRow(float *to, const float *from, int64_t k) { memcpy(to, from, (size_t)k * sizeof(float)); }
