// Matrix products with packed weights, and the sums of outer products that are a pair's gradients.
enum {
  inputSpace = blockTokens * blockBytes,
  // A rank of 256 in three projections with one input.
  rankSpace = blockTokens * 768 * 4,
  panelSpace = panelRows * blockBytes,
};

INLINE int64_t linearBytes(void) { return inputSpace + rankSpace + panelSpace; }

EXPORT int64_t hone_packed_bytes(int64_t n, int64_t k) {
  return ceilDivide(n, panelRows) * panelElements(k) * (int64_t)sizeof(ELEMENT);
}

// Packs rows [first, first + count) of a matrix [n, k] given as f32.
EXPORT void hone_pack(void *panels, const float *rows, int64_t n, int64_t k, int64_t first, int64_t count) {
  packPanels(panels, (const char *)rows, k * (int64_t)sizeof(float), n, k, first, count);
}

// Panels [first, first + count) of the transposed matrix [k, n] from the panels of [n, k].
EXPORT void hone_transpose(void *to, const void *from, int64_t n, int64_t k, int64_t first, int64_t count) {
  const int64_t nPadded = paddedColumns(n), kPadded = paddedColumns(k);
  for (int64_t row = first * panelRows; row < (first + count) * panelRows; row++) {
    ELEMENT *target = placeInPanels(to, row, nPadded);
    for (int64_t i = 0; i < nPadded; i++) {
      const ELEMENT *source = placeInPanels((ELEMENT *)from, i, kPadded);
      target[i / STEP * panelRows * STEP + i % STEP] =
          row < k && i < n ? source[row / STEP * panelRows * STEP + row % STEP] : (ELEMENT)0;
    }
  }
}

enum { hasSecond = 1, hasResidual = 2, hasBias = 4 };

// dst [N, T] = W x (+ B h) (+ residual or bias); sources: scratch, panels of W, x, then those that the flags name:
// panels of B and h; the residual [N, T]; the bias [N].
EXPORT void hone_product(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  char *scratch = scratchOf(dst->src[0], ith, &nth);
  if (scratch == NULL) return;
  const uint32_t flags = settingsOf(userdata).bits;
  struct ggml_tensor *const *next = dst->src + 3;
  const struct ggml_tensor *w = dst->src[1], *x = dst->src[2];
  const struct ggml_tensor *b = flags & hasSecond ? *next++ : NULL, *h = b == NULL ? NULL : *next++;
  const struct ggml_tensor *residual = flags & hasResidual ? *next++ : NULL;
  const struct ggml_tensor *bias = flags & hasBias ? *next++ : NULL;
  const int64_t n = dst->ne[0], tokens = dst->ne[1], k = x->ne[0], chunk = blockBytes / (int64_t)sizeof(ELEMENT);
  const int64_t panels = ceilDivide(n, panelRows), blocks = ceilDivide(tokens, blockTokens);
  const int64_t end = panels * blocks * (ith + 1) / nth;
  PAIRED *const inputs = (PAIRED *)scratch, *const low = (PAIRED *)(scratch + inputSpace);
  BEGIN();
  int64_t at = panels * blocks * ith / nth;
  while (at < end) {
    const int64_t first = at / panels * blockTokens, rows = smaller(blockTokens, tokens - first);
    struct block block = {
        .rows = rows, .n = n, .firstPanel = at % panels, .lastPanel = smaller(panels, at % panels + end - at),
        .y = floatsOf(dst) + first * strideOf(dst), .yStride = strideOf(dst)};
    if (residual != NULL) {
      block.init = floatsOf(residual) + first * strideOf(residual);
      block.initStride = strideOf(residual);
    } else if (bias != NULL) block.init = floatsOf(bias);
    for (int64_t k0 = 0; k0 < k; k0 += chunk) {
      const int64_t columns = smaller(chunk, k - k0), isLast = k0 + chunk >= k;
      packInputs(inputs, x->data + (size_t)first * x->nb[1] + k0 * sizeof(float), (int64_t)x->nb[1], rows, columns);
      block.factors[0] = (struct factor){
          (const ELEMENT *)w->data + k0 * panelRows, panelElements(k), inputs, stepsOf(columns)};
      block.count = 1;
      if (isLast && b != NULL) {
        packInputs(low, h->data + (size_t)first * h->nb[1], (int64_t)h->nb[1], rows, h->ne[0]);
        block.factors[1] = (struct factor){
            (const ELEMENT *)b->data, panelElements(h->ne[0]), low, stepsOf(h->ne[0])};
        block.count = 2;
      }
      multiply(&block);
      block.init = block.y;
      block.initStride = block.yStride;
    }
    at += block.lastPanel - block.firstPanel;
  }
  END();
}

// dst [M, N] = Σ_t a[t][m] · b[t][n]; sources: scratch, a [M, T], b [N, T] with N the smaller one.
EXPORT void hone_outer(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  (void)userdata;
  char *scratch = scratchOf(dst->src[0], ith, &nth);
  if (scratch == NULL) return;
  const struct ggml_tensor *a = dst->src[1], *b = dst->src[2];
  const int64_t m = dst->ne[0], n = dst->ne[1], tokens = a->ne[1], chunk = blockBytes / (int64_t)sizeof(ELEMENT);
  const int64_t panels = ceilDivide(m, panelRows), begin = panels * ith / nth, end = panels * (ith + 1) / nth;
  if (begin == end) return;
  PAIRED *const inputs = (PAIRED *)scratch;
  ELEMENT *const panel = (ELEMENT *)(scratch + inputSpace + rankSpace);
  BEGIN();
  for (int64_t n0 = 0; n0 < n; n0 += blockTokens) {
    for (int64_t t0 = 0; t0 < tokens; t0 += chunk) {
      const int64_t rows = smaller(blockTokens, n - n0), columns = smaller(chunk, tokens - t0);
      const char *from = b->data + (size_t)t0 * b->nb[1] + n0 * sizeof(float);
      packInputsTransposed(inputs, from, (int64_t)b->nb[1], rows, columns);
      for (int64_t p = begin; p < end; p++) {
        const int64_t width = smaller(panelRows, m - p * panelRows);
        const char *source = a->data + (size_t)t0 * a->nb[1] + p * panelRows * sizeof(float);
        packPanelTransposed(panel, source, (int64_t)a->nb[1], width, columns);
        float *const y = floatsOf(dst) + n0 * strideOf(dst) + p * panelRows;
        multiplyAll((struct block){
            .factors = {{panel, 0, inputs, stepsOf(columns)}}, .count = 1, .rows = rows, .n = width, .y = y,
            .yStride = strideOf(dst), .init = t0 > 0 ? y : NULL, .initStride = strideOf(dst)});
      }
    }
  }
  END();
}
