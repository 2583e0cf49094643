// What every instruction set's file shares. The file that includes this defines the vectors (see avx2.c for the
// list) and, where it multiplies rounded numbers, ROUNDED. Every operator is called on each of ggml's threads with
// its number and theirs; the parts of the work are the same however many threads share them.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Mirror of ggml 0.23's struct ggml_tensor up to `data`; the engine refuses other versions and tests the layout.
struct ggml_tensor {
  int32_t type;
  void *buffer;
  int64_t ne[4];
  size_t nb[4];
  int32_t op;
  int32_t op_params[16];
  int32_t flags;
  struct ggml_tensor *src[10];
  struct ggml_tensor *view_src;
  size_t view_offs;
  char *data;
};

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline, unused))

// 96 × 4 KiB stay in a second-level cache of 512 KiB.
#ifndef BLOCK_TOKENS
#define BLOCK_TOKENS 96
#endif

enum {
  panelRows = 2 * VECTOR_FLOATS,
  // Inputs that one thread packs together, and that share a panel read once.
  blockTokens = BLOCK_TOKENS,
  // Columns packed together.
  blockBytes = 4096,
};

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
INLINE int64_t aligned(int64_t bytes) { return ceilDivide(bytes, 64) * 64; }

#ifdef ROUNDED
#include "bf16.h"
#else
#include "f32.h"
#endif
#include "product.h"

#ifndef BEGIN
#define BEGIN()
#define END()
#endif

// What a call passes beside tensors: 32 bits of a float and 32 of flags or counts.
struct settings {
  float value;
  uint32_t bits;
};

INLINE struct settings settingsOf(void *userdata) {
  const uint64_t all = (uint64_t)(uintptr_t)userdata;
  const uint32_t low = (uint32_t)all;
  struct settings s = {.bits = (uint32_t)(all >> 32)};
  memcpy(&s.value, &low, sizeof s.value);
  return s;
}

INLINE float *floatsOf(const struct ggml_tensor *t) { return (float *)t->data; }
INLINE int64_t strideOf(const struct ggml_tensor *t) { return (int64_t)(t->nb[1] / sizeof(float)); }
INLINE int64_t rowsOf(const struct ggml_tensor *t) { return t->ne[1] * t->ne[2] * t->ne[3]; }

// Row `at` of a tensor, counted over all axes but the first.
INLINE float *rowOf(const struct ggml_tensor *t, int64_t at) {
  const int64_t second = at / t->ne[1];
  const size_t offset = (size_t)(at % t->ne[1]) * t->nb[1] + (size_t)(second % t->ne[2]) * t->nb[2] +
                        (size_t)(second / t->ne[2]) * t->nb[3];
  return (float *)(t->data + offset);
}

// The scratch tensor has one row for each thread; threads beyond its rows have no work.
static char *scratchOf(const struct ggml_tensor *scratch, int ith, int *nth) {
  if (*nth > scratch->ne[1]) *nth = (int)scratch->ne[1];
  return ith < *nth ? scratch->data + (size_t)ith * scratch->nb[1] : NULL;
}

#include "vectors.h"

#include "linear.h"
#include "rows.h"
#include "attention.h"
#include "head.h"

#ifdef ROUNDED
EXPORT int hone_rounds(void) { return 1; }
#else
EXPORT int hone_rounds(void) { return 0; }
#endif

EXPORT int64_t hone_panel_rows(void) { return panelRows; }

// Bytes of scratch for each thread: T tokens, heads of D numbers, hidden states of C numbers.
EXPORT int64_t hone_scratch_bytes(int64_t tokens, int64_t headSize, int64_t width) {
  const int64_t most = larger(attentionBytes(tokens, headSize), headBytes(width));
  return aligned(larger(linearBytes(), most));
}
