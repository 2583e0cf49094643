// The packed product of one element type. The instruction set's file has defined the vectors (see avx2.c), and
// kernels.h: ELEMENT (stored), STEP (columns multiplied at once), PAIRED (STEP inputs), WEIGHTS (a vector of STEP
// columns of VECTOR_FLOATS rows), LOAD_WEIGHTS, SPREAD, MULTIPLY_ADD, TILE_ROWS (tokens of a tile), K_MULTIPLE
// (columns are padded to a multiple of it), convert, convertRow.
//
// A matrix of N rows and K columns is packed in panels of `panelRows` rows. A panel holds its rows side by side for
// each step of K, so that one vector load feeds as many results. Rows past N and columns past K are zero.
// A result's additions always happen in the same order, whichever thread computes it.

// A product y[t][n] = init[t][n] + Σ_f Σ_k panels_f[n][k] · x_f[t][k]; inputs are packed too.
struct factor {
  const ELEMENT *panels;
  int64_t panelStride; // elements
  const PAIRED *x;
  int64_t steps;
};

struct tile {
  struct factor factors[2];
  int count;
  int64_t xStride;
  float *y; // [tokens][yStride]
  int64_t yStride, width;
  const float *init; // NULL = zero
  int64_t initStride;
};

INLINE int64_t paddedColumns(int64_t k) { return ceilDivide(k, K_MULTIPLE) * K_MULTIPLE; }
INLINE int64_t stepsOf(int64_t k) { return paddedColumns(k) / STEP; }
INLINE int64_t panelElements(int64_t k) { return panelRows * paddedColumns(k); }
// Bytes of `rows` packed inputs of k columns.
INLINE int64_t inputBytes(int64_t rows, int64_t k) {
  return ceilDivide(rows, 16) * 16 * stepsOf(k) * (int64_t)sizeof(PAIRED);
}

#ifdef OWN_TILES_FILE
#include OWN_TILES_FILE
#else
// `tokens` × two vectors of results stay in registers; both counts are constants where this is inlined.
INLINE void tileOf(const struct tile *t, float *y, int64_t yStride, const int tokens, const int vectors) {
  VECTOR sum[TILE_TOKENS][2];
#pragma GCC unroll 16
  for (int i = 0; i < tokens; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
      sum[i][v] = t->init == NULL ? ZERO() : LOAD(t->init + i * t->initStride + v * VECTOR_FLOATS);
  for (int f = 0; f < t->count; f++) {
    const ELEMENT *w = t->factors[f].panels;
    const PAIRED *x = t->factors[f].x;
    for (int64_t s = 0; s < t->factors[f].steps; s++) {
      const WEIGHTS w0 = LOAD_WEIGHTS(w);
      const WEIGHTS w1 = vectors > 1 ? LOAD_WEIGHTS(w + VECTOR_FLOATS * STEP) : w0;
#pragma GCC unroll 16
      for (int i = 0; i < tokens; i++) {
        const WEIGHTS spread = SPREAD(x + i);
        sum[i][0] = MULTIPLY_ADD(sum[i][0], w0, spread);
        if (vectors > 1) sum[i][1] = MULTIPLY_ADD(sum[i][1], w1, spread);
      }
      w += panelRows * STEP;
      x += t->xStride;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < tokens; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) STORE(y + i * yStride + v * VECTOR_FLOATS, sum[i][v]);
}

static void smallTile(const struct tile *t, float *y, int64_t yStride, int64_t tokens) {
  const int wide = t->width > VECTOR_FLOATS;
#define CASE(count)                                  \
  case count:                                        \
    if (wide) tileOf(t, y, yStride, count, 2);       \
    else tileOf(t, y, yStride, count, 1);            \
    return;
  switch (tokens) {
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5)
#if TILE_TOKENS > 6
    CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11)
#endif
    CASE(TILE_TOKENS)
  }
#undef CASE
}

INLINE int fitsVectors(int64_t width, int64_t tokens) {
  (void)tokens;
  return width == panelRows || width == VECTOR_FLOATS;
}

#if defined(__clang__)
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define MIX(a, b, ...) __builtin_shuffle(a, b, (words){__VA_ARGS__})
#endif
typedef int32_t words __attribute__((vector_size(16)));
enum { inputPiece = 256 };

// to[s][i] = rows[i][s] for four tokens, four steps at a time: `tokens` lie side by side in a step.
INLINE void turnFour(PAIRED *to, const PAIRED *rows, int64_t tokens, int64_t count) {
  for (int64_t s = 0; s < count; s += 4) {
    words r[4], t[4];
    for (int i = 0; i < 4; i++) memcpy(r + i, rows + i * inputPiece + s, sizeof *r);
    const words low = MIX(r[0], r[1], 0, 4, 1, 5), high = MIX(r[0], r[1], 2, 6, 3, 7);
    const words low2 = MIX(r[2], r[3], 0, 4, 1, 5), high2 = MIX(r[2], r[3], 2, 6, 3, 7);
    t[0] = MIX(low, low2, 0, 1, 4, 5);
    t[1] = MIX(low, low2, 2, 3, 6, 7);
    t[2] = MIX(high, high2, 0, 1, 4, 5);
    t[3] = MIX(high, high2, 2, 3, 6, 7);
    for (int i = 0; i < smaller(4, count - s); i++) memcpy(to + (s + i) * tokens, t + i, sizeof *t);
  }
}
#undef MIX

// Inputs in tiles, each [step][token of the tile].
static void packInputs(PAIRED *to, const char *from, int64_t stride, int64_t rows, int64_t columns) {
  const int64_t steps = stepsOf(columns);
  PAIRED piece[TILE_TOKENS * inputPiece];
  for (int64_t t = 0; t < rows; t += TILE_TOKENS) {
    const int64_t tokens = smaller(TILE_TOKENS, rows - t);
    for (int64_t first = 0; first < steps; first += inputPiece) {
      const int64_t count = smaller(inputPiece, steps - first), column = first * STEP;
      for (int64_t i = 0; i < tokens; i++) {
        PAIRED *const row = piece + i * inputPiece;
        row[count - 1] = 0;
        const float *const values = (const float *)(from + (t + i) * stride);
        convertRow((ELEMENT *)row, values + column, smaller(count * STEP, columns - column));
      }
      PAIRED *const target = to + first * tokens;
      int64_t i = 0;
      for (; i + 4 <= tokens; i += 4) turnFour(target + i, piece + i * inputPiece, tokens, count);
      for (; i < tokens; i++)
        for (int64_t s = 0; s < count; s++) target[s * tokens + i] = piece[i * inputPiece + s];
    }
    to += steps * tokens;
  }
}

// The same of a transposed matrix: `columns` rows of memory, each holding one number of every input.
static void packInputsTransposed(PAIRED *to, const char *from, int64_t stride, int64_t rows, int64_t columns) {
  const int64_t steps = stepsOf(columns);
  for (int64_t t = 0; t < rows; t += TILE_TOKENS) {
    const int64_t tokens = smaller(TILE_TOKENS, rows - t);
    for (int64_t s = 0; s < steps; s++)
      for (int64_t i = 0; i < tokens; i++) {
        ELEMENT *place = (ELEMENT *)(to + s * tokens + i);
        for (int64_t e = 0; e < STEP; e++) {
          const int64_t column = s * STEP + e;
          place[e] = column < columns ? convert(((const float *)(from + column * stride))[t + i]) : (ELEMENT)0;
        }
      }
    to += steps * tokens;
  }
}
#endif

// Results at the matrix's last rows go through a buffer, so that nothing is written past them.
static void anyTile(const struct tile *t, int64_t tokens) {
  if (fitsVectors(t->width, tokens)) {
    smallTile(t, t->y, t->yStride, tokens);
    return;
  }
  float buffer[TILE_ROWS * panelRows];
  memset(buffer, 0, sizeof buffer);
  struct tile inner = *t;
  const size_t bytes = (size_t)t->width * sizeof(float);
  if (t->init != NULL) {
    for (int64_t i = 0; i < tokens; i++) memcpy(buffer + i * panelRows, t->init + i * t->initStride, bytes);
    inner.init = buffer;
    inner.initStride = panelRows;
  }
  smallTile(&inner, buffer, panelRows, tokens);
  for (int64_t i = 0; i < tokens; i++) memcpy(t->y + i * t->yStride, buffer + i * panelRows, bytes);
}

struct block {
  struct factor factors[2];
  int count;
  int64_t rows, n; // inputs, results of each
  int64_t firstPanel, lastPanel;
  float *y;
  int64_t yStride;
  const float *init;
  int64_t initStride;
};

static void multiply(const struct block *b) {
  for (int64_t p = b->firstPanel; p < b->lastPanel; p++) {
    for (int64_t t = 0; t < b->rows; t += TILE_ROWS) {
      const int64_t tokens = smaller(TILE_ROWS, b->rows - t);
      struct tile tile = {
          .count = b->count, .xStride = tokens, .y = b->y + t * b->yStride + p * panelRows, .yStride = b->yStride,
          .width = smaller(panelRows, b->n - p * panelRows), .initStride = b->initStride,
          .init = b->init == NULL ? NULL : b->init + t * b->initStride + p * panelRows};
      for (int f = 0; f < b->count; f++) {
        tile.factors[f] = b->factors[f];
        tile.factors[f].panels += p * b->factors[f].panelStride;
        tile.factors[f].x += t * b->factors[f].steps;
      }
      anyTile(&tile, tokens);
    }
  }
}

INLINE void multiplyAll(struct block b) {
  b.firstPanel = 0;
  b.lastPanel = ceilDivide(b.n, panelRows);
  multiply(&b);
}

INLINE ELEMENT *placeInPanels(ELEMENT *panels, int64_t row, int64_t kPadded) {
  return panels + row / panelRows * panelRows * kPadded + row % panelRows * STEP;
}

// Packs rows [first, first + count) of a matrix [n, k]; `stride` in bytes.
static void packPanels(ELEMENT *panels, const char *rows, int64_t stride, int64_t n, int64_t k, int64_t first, int64_t count) {
  const int64_t kPadded = paddedColumns(k);
  // The last call also clears the rows that fill the last panel.
  const int64_t end = first + count == n ? ceilDivide(n, panelRows) * panelRows : first + count;
  ELEMENT values[256];
  for (int64_t row = first; row < end; row++) {
    ELEMENT *to = placeInPanels(panels, row, kPadded);
    const float *from = (const float *)(rows + (row - first) * stride);
    for (int64_t i = 0; i < kPadded; i += 256) {
      const int64_t all = smaller(256, kPadded - i), filled = row < n ? smaller(256, k - i) : 0;
      if (filled < all) memset(values, 0, sizeof values);
      if (filled > 0) convertRow(values, from + i, filled);
      for (int64_t c = 0; c < all; c += STEP, to += panelRows * STEP) memcpy(to, values + c, STEP * sizeof(ELEMENT));
    }
  }
}

// One panel of a transposed matrix: `columns` rows of memory, each with a number of all `width` rows of the panel.
static void packPanelTransposed(ELEMENT *to, const char *from, int64_t stride, int64_t width, int64_t columns) {
  const int64_t padded = paddedColumns(columns);
#if STEP == 1
  for (int64_t c = 0; c < padded; c++, to += panelRows) {
    const int64_t filled = c < columns ? width : 0;
    if (filled > 0) memcpy(to, from + c * stride, (size_t)filled * sizeof(float));
    if (filled < panelRows) memset(to + filled, 0, (size_t)(panelRows - filled) * sizeof(float));
  }
#else
  ELEMENT pair[2][panelRows];
  for (int64_t c = 0; c < padded; c += 2, to += 2 * panelRows) {
    for (int64_t e = 0; e < 2; e++) {
      const int64_t filled = c + e < columns ? width : 0;
      if (filled < panelRows) memset(pair[e], 0, sizeof pair[e]);
      if (filled > 0) convertRow(pair[e], (const float *)(from + (c + e) * stride), filled);
    }
    uint32_t *both = (uint32_t *)to;
    for (int64_t i = 0; i < panelRows; i++) both[i] = pair[0][i] | (uint32_t)pair[1][i] << 16;
  }
#endif
}
