// The packed product for one element type; included by kernels.h once per type, with these names defined:
// NAME(x), ELEMENT (stored), STEP (columns multiplied at once), PAIRED (STEP inputs), WEIGHTS (a vector of STEP
// columns of VECTOR_FLOATS rows), LOAD_WEIGHTS, SPREAD, MULTIPLY_ADD, CONVERT, CONVERT_ROW, TILE_ROWS (tokens of a
// tile), K_MULTIPLE (columns are padded to a multiple of it); with OWN_TILES tile, anyTile and packInputs exist.

#ifndef OWN_TILES
struct NAME(tile) {
  const ELEMENT *w; // one panel
  const PAIRED *x;  // [steps][xStride]
  int64_t xStride, steps;
  float *y; // [tokens][yStride]
  int64_t yStride, width;
  int add;
};

// `tokens` × two vectors of results stay in registers; both counts are constants where this is inlined.
INLINE void NAME(tileOf)(const struct NAME(tile) * t, float *y, int64_t yStride, const int tokens, const int vectors) {
  VECTOR sum[TILE_TOKENS][2];
#pragma GCC unroll 16
  for (int i = 0; i < tokens; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
      sum[i][v] = t->add ? LOAD(y + i * yStride + v * VECTOR_FLOATS) : ZERO();
  const ELEMENT *w = t->w;
  const PAIRED *x = t->x;
  for (int64_t s = 0; s < t->steps; s++) {
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
#pragma GCC unroll 16
  for (int i = 0; i < tokens; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) STORE(y + i * yStride + v * VECTOR_FLOATS, sum[i][v]);
}

static void NAME(smallTile)(const struct NAME(tile) * t, float *y, int64_t yStride, int64_t tokens) {
  const int wide = t->width > VECTOR_FLOATS;
#define CASE(count)                                            \
  case count:                                                  \
    if (wide) NAME(tileOf)(t, y, yStride, count, 2);           \
    else NAME(tileOf)(t, y, yStride, count, 1);                \
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

// Results at the matrix's last rows go through a buffer, so that nothing is written past them.
static void NAME(anyTile)(const struct NAME(tile) * t, int64_t tokens) {
  if (t->width == panelRows || t->width == VECTOR_FLOATS) {
    NAME(smallTile)(t, t->y, t->yStride, tokens);
    return;
  }
  float buffer[TILE_TOKENS * panelRows];
  memset(buffer, 0, sizeof buffer);
  const size_t bytes = (size_t)t->width * sizeof(float);
  for (int64_t i = 0; t->add && i < tokens; i++) memcpy(buffer + i * panelRows, t->y + i * t->yStride, bytes);
  NAME(smallTile)(t, buffer, panelRows, tokens);
  for (int64_t i = 0; i < tokens; i++) memcpy(t->y + i * t->yStride, buffer + i * panelRows, bytes);
}

// Inputs [first, first + count) of tokens in tiles, each [step][token of the tile].
static void NAME(packInputs)(const struct product *c, int64_t first, int64_t count, int64_t k0, int64_t columns) {
  const int64_t steps = ceilDivide(columns, STEP);
  PAIRED *to = (PAIRED *)c->scratch;
  PAIRED row[blockBytes / sizeof(PAIRED)];
  for (int64_t t = 0; t < count; t += TILE_TOKENS) {
    const int64_t tokens = smaller(TILE_TOKENS, count - t);
    for (int64_t i = 0; i < tokens; i++) {
      const float *from = (const float *)(c->x + (size_t)(first + t + i) * c->xStride) + k0;
      row[steps - 1] = 0;
      CONVERT_ROW(row, from, columns, c->lowInputs);
      for (int64_t s = 0; s < steps; s++) to[s * tokens + i] = row[s];
    }
    to += steps * tokens;
  }
}
#endif

INLINE int64_t NAME(padded)(int64_t k) { return ceilDivide(k, K_MULTIPLE) * K_MULTIPLE; }

// Threads take equal parts of the (block of tokens, panel) pairs; what a pair computes depends on nothing else.
MAYBE_UNUSED static void NAME(product)(const struct product *c, int ith, int nth) {
  const int64_t panels = ceilDivide(c->n, panelRows), blocks = ceilDivide(c->tokens, blockTokens);
  const int64_t kPadded = NAME(padded)(c->k), columns = blockBytes / (int64_t)sizeof(ELEMENT);
  const int64_t end = panels * blocks * (ith + 1) / nth;
  const int64_t yStride = (int64_t)(c->yStride / sizeof(float));
  int64_t at = panels * blocks * ith / nth;
  while (at < end) {
    const int64_t firstPanel = at % panels, lastPanel = smaller(panels, firstPanel + end - at);
    const int64_t first = at / panels * blockTokens, count = smaller(blockTokens, c->tokens - first);
    for (int64_t k0 = 0; k0 < c->k; k0 += columns) {
      const int64_t steps = NAME(padded)(smaller(columns, c->k - k0)) / STEP;
      NAME(packInputs)(c, first, count, k0, smaller(columns, c->k - k0));
      for (int64_t p = firstPanel; p < lastPanel; p++) {
        for (int64_t t = 0; t < count; t += TILE_ROWS) {
          const int64_t tokens = smaller(TILE_ROWS, count - t);
          const struct NAME(tile) tile = {
              .w = (const ELEMENT *)c->panels + p * panelRows * kPadded + k0 * panelRows,
              .x = (const PAIRED *)c->scratch + t * steps, .xStride = tokens, .steps = steps,
              .y = (float *)(c->y + (size_t)(first + t) * c->yStride) + p * panelRows, .yStride = yStride,
              .width = smaller(panelRows, c->n - p * panelRows), .add = c->add || k0 > 0};
          NAME(anyTile)(&tile, tokens);
        }
      }
    }
    at += lastPanel - firstPanel;
  }
}

MAYBE_UNUSED static int64_t NAME(packedBytes)(int64_t n, int64_t k) {
  return ceilDivide(n, panelRows) * panelRows * NAME(padded)(k) * (int64_t)sizeof(ELEMENT);
}

INLINE ELEMENT *NAME(place)(ELEMENT *panels, int64_t row, int64_t kPadded) {
  return panels + row / panelRows * panelRows * kPadded + row % panelRows * STEP;
}

MAYBE_UNUSED static void NAME(pack)(void *panels, const float *rows, int64_t n, int64_t k, int64_t first, int64_t count, int low) {
  const int64_t kPadded = NAME(padded)(k);
  // The last call also clears the rows that fill the last panel.
  const int64_t end = first + count == n ? ceilDivide(n, panelRows) * panelRows : first + count;
  for (int64_t row = first; row < end; row++) {
    ELEMENT *to = NAME(place)(panels, row, kPadded);
    for (int64_t i = 0; i < kPadded; i++)
      to[i / STEP * panelRows * STEP + i % STEP] =
          row < n && i < k ? CONVERT(rows[(row - first) * k + i], low) : (ELEMENT)0;
  }
}

MAYBE_UNUSED static void NAME(transpose)(void *to, const void *from, int64_t n, int64_t k, int64_t first, int64_t count) {
  const int64_t nPadded = NAME(padded)(n), kPadded = NAME(padded)(k);
  for (int64_t row = first * panelRows; row < (first + count) * panelRows; row++) {
    ELEMENT *target = NAME(place)(to, row, nPadded);
    for (int64_t i = 0; i < nPadded; i++) {
      const ELEMENT *source = NAME(place)((ELEMENT *)from, i, kPadded);
      target[i / STEP * panelRows * STEP + i % STEP] =
          row < k && i < n ? source[row / STEP * panelRows * STEP + row % STEP] : (ELEMENT)0;
    }
  }
}
