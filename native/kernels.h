// What every instruction set's file shares: ggml's tensor as far as the kernels read it, packing of weights, and the
// custom operators. The file that includes this defines the vectors (see avx2.c for the list) and gets two
// products from product.h: one over f32 panels and one over the panels of its own element type.
//
// A matrix of N rows and K columns is packed in panels of `panelRows` rows. A panel holds its rows side by side for
// each step of K, so that one vector load feeds as many results. Rows past N and columns past K are zero.
// A result's additions always happen in the same order, whichever thread computes it.
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
#define MAYBE_UNUSED __attribute__((unused))
#define INLINE static inline __attribute__((always_inline))

enum {
  panelRows = 2 * VECTOR_FLOATS,
  // Inputs that one thread packs together: eight tiles or more share a panel that was read once.
  blockTokens = 96,
  // Columns packed together: 96 × 4 KiB stay in a second-level cache of 1 MiB beside a panel.
  blockBytes = 4096,
  scratchBytes = blockTokens * blockBytes,
  // Panels that a product of two inputs packs at once.
  matmulBytes = 1 << 19,
};

// A product y[t][n] (+)= Σ_k w[n][k] · x[t][k].
struct product {
  const char *panels;
  const char *x;
  char *y;
  char *scratch;
  size_t xStride, yStride; // bytes between tokens
  int64_t n, k, tokens;
  int add;       // whether y holds a first part of the sum
  int lowInputs; // multiply what rounding took from x
};

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#define NAME(x) JOIN(f32_, x)
#define ELEMENT float
#define STEP 1
#define K_MULTIPLE 1
#define TILE_ROWS TILE_TOKENS
#define PAIRED float
#define WEIGHTS VECTOR
#define LOAD_WEIGHTS(p) LOAD(p)
#define SPREAD(p) SPREAD_FLOAT(p)
#define MULTIPLY_ADD(sum, w, x) FUSED(sum, w, x)
#define CONVERT(v, low) (v)
#define CONVERT_ROW(to, from, k, low) memcpy(to, from, (size_t)(k) * sizeof(float))
#include "product.h"
#undef NAME
#undef ELEMENT
#undef STEP
#undef K_MULTIPLE
#undef TILE_ROWS
#undef PAIRED
#undef WEIGHTS
#undef LOAD_WEIGHTS
#undef SPREAD
#undef MULTIPLY_ADD
#undef CONVERT
#undef CONVERT_ROW

#ifdef OWN_ELEMENT
#include "bf16.h"
#define MAIN(x) JOIN(own_, x)
#else
#define MAIN(x) JOIN(f32_, x)
#endif

EXPORT int64_t hone_scratch_bytes(void) { return scratchBytes + matmulBytes; }
// Largest k of hone_matmul.
EXPORT int64_t hone_matmul_columns(void) { return matmulBytes / (panelRows * (int64_t)sizeof(float)); }
EXPORT int64_t hone_panel_rows(void) { return panelRows; }
EXPORT int64_t hone_packed_bytes(int64_t n, int64_t k) { return MAIN(packedBytes)(n, k); }

// Packs rows [first, first + count) of a matrix [n, k] given as f32.
EXPORT void hone_pack(void *panels, const float *rows, int64_t n, int64_t k, int64_t first, int64_t count) {
  MAIN(pack)(panels, rows, n, k, first, count, 0);
}

#ifdef OWN_ELEMENT
EXPORT int hone_rounds(void) { return 1; }
#else
EXPORT int hone_rounds(void) { return 0; }
#endif

// Packs what rounding took from the rows; only where the elements are rounded.
EXPORT void hone_pack_low(void *panels, const float *rows, int64_t n, int64_t k, int64_t first, int64_t count) {
  MAIN(pack)(panels, rows, n, k, first, count, 1);
}

// Panels [first, first + count) of the transposed matrix [k, n] from the panels of [n, k].
EXPORT void hone_transpose(void *to, const void *from, int64_t n, int64_t k, int64_t first, int64_t count) {
  MAIN(transpose)(to, from, n, k, first, count);
}

// The scratch tensor has one row for each thread; threads beyond its rows have no work.
static char *scratchOf(const struct ggml_tensor *scratch, int ith, int *nth) {
  if (*nth > scratch->ne[1]) *nth = (int)scratch->ne[1];
  return ith < *nth ? scratch->data + (size_t)ith * scratch->nb[1] : NULL;
}

#ifndef BEGIN
#define BEGIN()
#define END()
#endif

// dst [N, T] = W x (+ E h); sources: scratch, and for each product its panels, x and the panels of what rounding
// took from the weights. Those equal to the panels mean: rounded factors suffice. Otherwise the parts
// high · high + high · low + low · high leave 2⁻¹⁶ of rounding.
EXPORT void hone_product(struct ggml_tensor *dst, int ith, int nth, void *unused) {
  (void)unused;
  char *scratch = scratchOf(dst->src[0], ith, &nth);
  if (scratch == NULL) return;
  BEGIN();
  for (int part = 0; part < 2; part++) {
    const struct ggml_tensor *const *factors = (const struct ggml_tensor *const *)dst->src + 1 + 3 * part;
    if (factors[0] == NULL) break;
    struct product call = {
        .panels = factors[0]->data, .x = factors[1]->data, .y = dst->data, .scratch = scratch,
        .xStride = factors[1]->nb[1], .yStride = dst->nb[1],
        .n = dst->ne[0], .k = factors[1]->ne[0], .tokens = dst->ne[1], .add = part};
    MAIN(product)(&call, ith, nth);
    if (factors[2]->data == factors[0]->data) continue;
    call.add = 1;
    call.lowInputs = 1;
    MAIN(product)(&call, ith, nth);
    call.lowInputs = 0;
    call.panels = factors[2]->data;
    MAIN(product)(&call, ith, nth);
  }
  END();
}

// dst [M, N] = Σ_t a[t][m] · b[t][n]; sources: scratch, a [M, T], b [N, T].
EXPORT void hone_outer(struct ggml_tensor *dst, int ith, int nth, void *unused) {
  (void)unused;
  char *scratch = scratchOf(dst->src[0], ith, &nth);
  if (scratch == NULL) return;
  const struct ggml_tensor *a = dst->src[1], *b = dst->src[2];
  const int64_t m = dst->ne[0], n = dst->ne[1], tokens = a->ne[1], panels = ceilDivide(m, panelRows);
  // 256 rows of a panel are 32 KiB with the widest vectors: they stay in the first-level cache.
  enum { rows = 256 };
  float *const panel = (float *)scratch;
  for (int64_t p = panels * ith / nth; p < panels * (ith + 1) / nth; p++) {
    const int64_t width = smaller(panelRows, m - p * panelRows);
    for (int64_t t = 0; t < tokens; t += rows) {
      const int64_t count = smaller(rows, tokens - t);
      for (int64_t row = 0; row < count; row++) {
        const float *from = (const float *)(a->data + (size_t)(t + row) * a->nb[1]) + p * panelRows;
        float *to = panel + row * panelRows;
        memcpy(to, from, (size_t)width * sizeof(float));
        memset(to + width, 0, (size_t)(panelRows - width) * sizeof(float));
      }
      const float *x = (const float *)(b->data + (size_t)t * b->nb[1]);
      for (int64_t first = 0; first < n; first += TILE_TOKENS) {
        const struct f32_tile tile = {
            .w = panel, .x = x + first, .xStride = (int64_t)(b->nb[1] / sizeof(float)), .steps = count,
            .y = (float *)(dst->data + (size_t)first * dst->nb[1]) + p * panelRows,
            .yStride = (int64_t)(dst->nb[1] / sizeof(float)), .width = width, .add = t > 0};
        f32_anyTile(&tile, smaller(TILE_TOKENS, n - first));
      }
    }
  }
}

// dst [n, m, q] = a [k, n, q] · b [k, m, q] in f32, a packed on the way; sources: scratch, a, b.
// Threads take equal parts of the (q, panel) pairs; several panels share the packed inputs.
EXPORT void hone_matmul(struct ggml_tensor *dst, int ith, int nth, void *unused) {
  (void)unused;
  char *scratch = scratchOf(dst->src[0], ith, &nth);
  if (scratch == NULL) return;
  const struct ggml_tensor *a = dst->src[1], *b = dst->src[2];
  const int64_t k = a->ne[0], n = dst->ne[0], panels = ceilDivide(n, panelRows);
  const int64_t atOnce = matmulBytes / (panelRows * k * (int64_t)sizeof(float));
  const int64_t end = panels * dst->ne[2] * (ith + 1) / nth;
  float *const packed = (float *)(scratch + scratchBytes);
  int64_t at = panels * dst->ne[2] * ith / nth;
  while (at < end) {
    const int64_t q = at / panels, first = at % panels;
    const int64_t count = smaller(smaller(atOnce, panels - first), end - at);
    const int64_t rows = smaller(count * panelRows, n - first * panelRows);
    const char *from = a->data + (size_t)q * a->nb[2] + (size_t)(first * panelRows) * a->nb[1];
    for (int64_t row = 0; row < count * panelRows; row++) {
      const float *values = (const float *)(from + (size_t)row * a->nb[1]);
      float *to = packed + row / panelRows * panelRows * k + row % panelRows;
      for (int64_t i = 0; i < k; i++) to[i * panelRows] = row < rows ? values[i] : 0;
    }
    const struct product call = {
        .panels = (const char *)packed, .x = b->data + (size_t)q * b->nb[2], .scratch = scratch,
        .y = dst->data + (size_t)q * dst->nb[2] + (size_t)(first * panelRows) * sizeof(float),
        .xStride = b->nb[1], .yStride = dst->nb[1], .n = rows, .k = k, .tokens = dst->ne[1]};
    f32_product(&call, 0, 1);
    at += count;
  }
}
