// The LM head without a matrix of all logits: a few hundred tokens of the vocabulary meet a block of positions at a
// time. The vocabulary is cut into slices, as many as the last axis of the result has; each gives a part of the
// result, so that the parts do not depend on how many threads there are.
enum { headRows = 288, headBlock = 96, headColumns = 256, logitBytes = headBlock * headColumns * 4 };

INLINE int64_t headBytes(int64_t width) {
  return 2 * aligned(inputBytes(headRows, width)) + 2 * logitBytes + aligned(inputBytes(headBlock, headColumns));
}

// Positions that one call of these operators takes.
EXPORT int64_t hone_head_rows(void) { return headRows; }

struct vocabulary {
  const ELEMENT *panels;
  int64_t width, size, rows; // channels, tokens, positions
  int64_t first, last;       // tokens of this slice
};

static struct vocabulary sliceOf(const struct ggml_tensor *panels, const struct ggml_tensor *hidden, int64_t size, int64_t slice, int64_t slices) {
  const int64_t all = ceilDivide(size, panelRows);
  return (struct vocabulary){
      .panels = (const ELEMENT *)panels->data, .width = hidden->ne[0], .size = size, .rows = hidden->ne[1],
      .first = all * slice / slices * panelRows, .last = smaller(size, all * (slice + 1) / slices * panelRows)};
}

// Logits of positions [row, row + rows) for the tokens [v, v + n), times `scale`; to [rows][headColumns].
static void logitsOf(const struct vocabulary *w, const PAIRED *inputs, int64_t row, int64_t rows, int64_t v, int64_t n, float scale, float *to) {
  const int64_t steps = stepsOf(w->width);
  multiplyHead(w->panels + v * paddedColumns(w->width), panelElements(w->width), inputs + row * steps, steps,
               (struct block){.rows = rows, .n = n, .y = to, .yStride = headColumns});
  const VECTOR factor = spread(scale);
  for (int64_t i = 0; i < rows; i++) {
    float *line = to + i * headColumns;
    EACH_VECTOR(c, n) { storeSome(line + c, loadSome(line + c, n - c) * factor, n - c); }
    for (int64_t c = n; c < headColumns; c++) line[c] = -INFINITY;
  }
}

INLINE PAIRED *packHidden(char **at, const struct ggml_tensor *hidden) {
  PAIRED *const inputs = take(at, inputBytes(headRows, hidden->ne[0]));
  packInputs(inputs, hidden->data, (int64_t)hidden->nb[1], hidden->ne[1], hidden->ne[0]);
  return inputs;
}

// Keeps the largest numbers in falling order; equal ones in the order in which they come.
static void insertTop(float *values, float *ids, int64_t count, float value, int64_t id) {
  int64_t place = count - 1;
  if (!(value > values[place])) return;
  for (; place > 0 && value > values[place - 1]; place--) {
    values[place] = values[place - 1];
    ids[place] = ids[place - 1];
  }
  values[place] = value;
  ids[place] = (float)id;
}

// Adds one line of logits to [maximum, sum of exponentials relative to it, K largest, their ids].
static void gatherLine(float *stats, int64_t count, const float *line, int64_t v) {
  VECTOR top = LOAD(line);
  for (int64_t c = VECTOR_FLOATS; c < headColumns; c += VECTOR_FLOATS) top = MAXIMUM(top, LOAD(line + c));
  const float most = largestOf(top), before = stats[0];
  stats[0] = most > before ? most : before;
  const VECTOR shift = spread(-stats[0]);
  VECTOR sum = ZERO();
  EACH_VECTOR(c, headColumns) sum += exponential(LOAD(line + c) + shift);
  stats[1] = (before == -INFINITY ? 0 : stats[1] * expf(before - stats[0])) + sumOf(sum);
  if (isnan(stats[1])) stats[0] = NAN; // a maximum can lose it
  float *const values = stats + 2, *const ids = values + count;
  if (count == 0 || !(most > values[count - 1])) return;
  for (int64_t c = 0; c < headColumns; c++) insertTop(values, ids, count, line[c], v + c);
}

// dst [2 + 2K, R, slices]: maximum and sum of exponentials, the K largest logits and their ids. Sources: scratch,
// panels [V, C], hidden [C, R], and where wanted ids i32 [M, R] and the place of their logits [M, R]. The value is
// 1 / temperature, the bits are V.
EXPORT void hone_head_stats(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  char *at = scratchOf(dst->src[0], ith, &nth);
  if (at == NULL) return;
  const struct settings s = settingsOf(userdata);
  const struct ggml_tensor *hidden = dst->src[2], *ids = dst->src[3], *gathered = dst->src[4];
  const int64_t slices = dst->ne[2], count = (dst->ne[0] - 2) / 2;
  BEGIN();
  const PAIRED *inputs = packHidden(&at, hidden);
  float *const logits = take(&at, logitBytes);
  for (int64_t slice = slices * ith / nth; slice < slices * (ith + 1) / nth; slice++) {
    const struct vocabulary w = sliceOf(dst->src[1], hidden, s.bits, slice, slices);
    float *const stats = (float *)(dst->data + (size_t)slice * dst->nb[2]);
    for (int64_t row = 0; row < w.rows; row++)
      for (int64_t i = 0; i < dst->ne[0]; i++) stats[row * dst->ne[0] + i] = i == 1 || i >= 2 + count ? 0 : -INFINITY;
    for (int64_t v = w.first; v < w.last; v += headColumns) {
      const int64_t n = smaller(headColumns, w.last - v);
      for (int64_t row = 0; row < w.rows; row += headBlock) {
        const int64_t rows = smaller(headBlock, w.rows - row);
        logitsOf(&w, inputs, row, rows, v, n, s.value, logits);
        for (int64_t i = 0; i < rows; i++) {
          const float *line = logits + i * headColumns;
          gatherLine(stats + (row + i) * dst->ne[0], count, line, v);
          if (ids == NULL) continue;
          const int32_t *wanted = (const int32_t *)ids->data + (row + i) * ids->ne[0];
          float *to = floatsOf(gathered) + (row + i) * ids->ne[0];
          for (int64_t m = 0; m < ids->ne[0]; m++)
            if (wanted[m] >= v && wanted[m] < v + n) to[m] = line[wanted[m] - v];
        }
      }
    }
  }
  END();
}

// A slice without tokens adds nothing.
static void clearEmpty(struct ggml_tensor *dst, const struct vocabulary *w, int64_t slice) {
  if (w->first >= w->last) memset(dst->data + (size_t)slice * dst->nb[2], 0, dst->nb[2]);
}

// Adds gradients of logits [rows][headColumns] times the head to d hidden.
static void addHidden(struct ggml_tensor *dst, const struct ggml_tensor *turned, const struct vocabulary *w, PAIRED *inputs, const float *logits, int64_t slice, int64_t row, int64_t rows, int64_t v) {
  const int64_t n = smaller(headColumns, w->last - v);
  float *const y = (float *)(dst->data + (size_t)slice * dst->nb[2] + (size_t)row * dst->nb[1]);
  packInputs(inputs, (const char *)logits, headColumns * sizeof(float), rows, n);
  multiplyHead((const ELEMENT *)turned->data + v * panelRows, panelElements(w->size), inputs, stepsOf(n), (struct block){
      .rows = rows, .n = w->width, .y = y, .yStride = strideOf(dst), .init = v > w->first ? y : NULL,
      .initStride = strideOf(dst)});
}

// dst [C, R, slices] = d loss / d hidden of a loss over gathered log-probabilities. Sources: scratch, panels [V, C],
// turned [C, V], hidden [C, R], [log Z, −Σ g] [2, R], ids i32 [M, R], g [M, R], the last two over the temperature.
EXPORT void hone_head_back(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  char *at = scratchOf(dst->src[0], ith, &nth);
  if (at == NULL) return;
  const struct settings s = settingsOf(userdata);
  const struct ggml_tensor *hidden = dst->src[3], *factors = dst->src[4], *ids = dst->src[5], *grads = dst->src[6];
  const int64_t slices = dst->ne[2], count = ids->ne[0];
  BEGIN();
  const PAIRED *inputs = packHidden(&at, hidden);
  float *const logits = take(&at, logitBytes);
  PAIRED *const packed = take(&at, inputBytes(headBlock, headColumns));
  for (int64_t slice = slices * ith / nth; slice < slices * (ith + 1) / nth; slice++) {
    const struct vocabulary w = sliceOf(dst->src[1], hidden, s.bits, slice, slices);
    clearEmpty(dst, &w, slice);
    for (int64_t v = w.first; v < w.last; v += headColumns) {
      const int64_t n = smaller(headColumns, w.last - v);
      for (int64_t row = 0; row < w.rows; row += headBlock) {
        const int64_t rows = smaller(headBlock, w.rows - row);
        logitsOf(&w, inputs, row, rows, v, n, s.value, logits);
        for (int64_t i = 0; i < rows; i++) {
          float *line = logits + i * headColumns;
          const float *f = floatsOf(factors) + 2 * (row + i);
          const VECTOR shift = spread(-f[0]), dense = spread(f[1]);
          EACH_VECTOR(c, headColumns) STORE(line + c, exponential(LOAD(line + c) + shift) * dense);
          const int32_t *wanted = (const int32_t *)ids->data + (row + i) * count;
          const float *g = floatsOf(grads) + (row + i) * count;
          for (int64_t m = 0; m < count; m++)
            if (wanted[m] >= v && wanted[m] < v + n) line[wanted[m] - v] += g[m];
        }
        addHidden(dst, dst->src[2], &w, packed, logits, slice, row, rows, v);
      }
    }
  }
  END();
}

// KL(base ‖ θ): parts [R, slices], written to source 6, and dst [C, R, slices] = its gradient times the row's factor.
// Sources: scratch, panels [V, C], turned [C, V], hidden of the base and of θ [C, R], [log Z base, log Z θ, factor]
// [3, R], parts. Where dst has one channel only the values are wanted.
EXPORT void hone_head_kl(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  char *at = scratchOf(dst->src[0], ith, &nth);
  if (at == NULL) return;
  const struct settings s = settingsOf(userdata);
  const struct ggml_tensor *base = dst->src[3], *hidden = dst->src[4], *factors = dst->src[5], *parts = dst->src[6];
  const int64_t slices = dst->ne[2];
  BEGIN();
  const PAIRED *baseInputs = packHidden(&at, base), *inputs = packHidden(&at, hidden);
  float *const baseLogits = take(&at, logitBytes), *const logits = take(&at, logitBytes);
  PAIRED *const packed = take(&at, inputBytes(headBlock, headColumns));
  for (int64_t slice = slices * ith / nth; slice < slices * (ith + 1) / nth; slice++) {
    const struct vocabulary w = sliceOf(dst->src[1], hidden, s.bits, slice, slices);
    float *const kl = (float *)(parts->data + (size_t)slice * parts->nb[1]);
    memset(kl, 0, (size_t)w.rows * sizeof(float));
    clearEmpty(dst, &w, slice);
    for (int64_t v = w.first; v < w.last; v += headColumns) {
      const int64_t n = smaller(headColumns, w.last - v);
      for (int64_t row = 0; row < w.rows; row += headBlock) {
        const int64_t rows = smaller(headBlock, w.rows - row);
        logitsOf(&w, baseInputs, row, rows, v, n, s.value, baseLogits);
        logitsOf(&w, inputs, row, rows, v, n, s.value, logits);
        for (int64_t i = 0; i < rows; i++) {
          float *line = logits + i * headColumns, *baseLine = baseLogits + i * headColumns;
          const float *f = floatsOf(factors) + 3 * (row + i);
          const VECTOR zp = spread(f[0]), zq = spread(f[1]), factor = spread(f[2]);
          VECTOR sum = ZERO();
          // Past the slice's last token the two differ by nothing: e⁰ of both, subtracted and times zero.
          for (int64_t c = n; c < headColumns; c++) {
            baseLine[c] = f[0];
            line[c] = f[1];
          }
          EACH_VECTOR(c, headColumns) {
            const VECTOR lp = LOAD(baseLine + c) - zp, lq = LOAD(line + c) - zq, p = exponential(lp);
            sum = FUSED(sum, p, lp - lq);
            STORE(line + c, (exponential(lq) - p) * factor);
          }
          kl[row + i] += sumOf(sum);
        }
        if (dst->ne[0] > 1) addHidden(dst, dst->src[2], &w, packed, logits, slice, row, rows, v);
      }
    }
  }
  END();
}

// dst = the sum of the source over its last axis, [n, R, slices] → [n, R].
EXPORT void hone_sum_slices(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  (void)userdata;
  const struct ggml_tensor *x = dst->src[0];
  const int64_t n = dst->ne[0], rows = dst->ne[1];
  for (int64_t t = rows * ith / nth; t < rows * (ith + 1) / nth; t++) {
    float *y = rowOf(dst, t);
    memcpy(y, x->data + (size_t)t * x->nb[1], (size_t)n * sizeof(float));
    for (int64_t slice = 1; slice < x->ne[2]; slice++) {
      const float *other = (const float *)(x->data + (size_t)slice * x->nb[2] + (size_t)t * x->nb[1]);
      for (int64_t i = 0; i < n; i++) y[i] += other[i];
    }
  }
}
