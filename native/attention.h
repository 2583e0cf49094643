// Attention without a matrix of all scores: a block of queries meets a block of keys at a time, with a running
// maximum and sum (FlashAttention, Dao et al. 2022). Heads of a group share the packed keys and values.
// Query t sees the keys before `prefix[t]` and those from `start[t]` to itself: sequences packed side by side have
// different starts, and may share a prefix.
enum { queryRows = 64, keyColumns = 256 };

struct attention {
  const struct ggml_tensor *qkv; // [D, H + 2K, T]
  const int32_t *places;         // [T][2]: start, prefix
  int64_t size, heads, shared, tokens, padded;
  float scale;
};

static struct attention attentionOf(const struct ggml_tensor *dst, struct settings s) {
  const struct ggml_tensor *qkv = dst->src[1];
  return (struct attention){
      .qkv = qkv, .places = (const int32_t *)dst->src[2]->data, .size = qkv->ne[0], .heads = s.bits & 255,
      .shared = s.bits >> 8 & 255, .tokens = qkv->ne[2], .padded = ceilDivide(qkv->ne[2], 32) * 32, .scale = s.value};
}

INLINE const float *headAt(const struct attention *a, int64_t head, int64_t token) {
  return (const float *)(a->qkv->data + (size_t)head * a->qkv->nb[1] + (size_t)token * a->qkv->nb[2]);
}

// Takes aligned pieces of a thread's scratch one after another.
INLINE void *take(char **at, int64_t bytes) {
  void *const piece = *at;
  *at += aligned(bytes);
  return piece;
}

INLINE int64_t keyBytes(int64_t padded, int64_t size) { return padded * paddedColumns(size) * (int64_t)sizeof(ELEMENT); }
INLINE int64_t turnedBytes(int64_t padded, int64_t size) {
  return ceilDivide(size, panelRows) * panelElements(padded) * (int64_t)sizeof(ELEMENT);
}
enum {
  scoreBytes = queryRows * keyColumns * 4,
  scorePanelBytes = keyColumns * queryRows * 4,
};

static int64_t attentionBytes(int64_t tokens, int64_t size) {
  const int64_t padded = ceilDivide(tokens, 32) * 32;
  const int64_t kept = 2 * aligned(keyBytes(padded, size)) + 2 * aligned(turnedBytes(padded, size)) + 2 * aligned(size * padded * 4);
  const int64_t inputs = 2 * aligned(inputBytes(queryRows, size)) + 2 * aligned(inputBytes(size, queryRows)) + aligned(inputBytes(queryRows, keyColumns));
  return kept + inputs + 2 * scoreBytes + 2 * scorePanelBytes + aligned(queryRows * size * 4) + 64 * queryRows;
}

// Panels of a head's keys or values, one row for each token, and the same turned: one row for each channel.
static void packTokens(ELEMENT *to, const struct attention *a, int64_t head) {
  packPanels(to, (const char *)headAt(a, head, 0), (int64_t)a->qkv->nb[2], a->tokens, a->size, 0, a->tokens);
  const int64_t filled = ceilDivide(a->tokens, panelRows) * panelRows, columns = paddedColumns(a->size);
  memset(to + filled * columns, 0, (size_t)((a->padded - filled) * columns) * sizeof(ELEMENT));
}

static void packChannels(ELEMENT *to, const struct attention *a, int64_t head) {
  for (int64_t c = 0; c < a->size; c += panelRows, to += panelElements(a->padded)) {
    const char *from = (const char *)(headAt(a, head, 0) + c);
    packPanelTransposed(to, from, (int64_t)a->qkv->nb[2], smaller(panelRows, a->size - c), a->tokens);
    const int64_t filled = paddedColumns(a->tokens), left = paddedColumns(a->padded) - filled;
    memset(to + filled * panelRows, 0, (size_t)(left * panelRows) * sizeof(ELEMENT));
  }
}

// Scores of queries for columns [k0, k0 + n) of the keys.
struct scores {
  int64_t first, rows, k0, n;
};

// Whether any query of the block sees any of the keys, and how many columns to compute.
static int meets(const struct attention *a, struct scores *s) {
  const int64_t last = s->first + s->rows;
  s->n = smaller(keyColumns, ceilDivide(last - s->k0, 32) * 32);
  for (int64_t t = s->first; t < last; t++) {
    const int32_t *place = a->places + 2 * t;
    if (s->k0 < place[1] || (place[0] < s->k0 + s->n && t >= s->k0)) return 1;
  }
  return 0;
}

INLINE int64_t within(int64_t at, int64_t n) { return at < 0 ? 0 : smaller(at, n); }

// Sets what a query does not see to −∞; returns whether it sees any of these keys.
static int hideKeys(const struct attention *a, const struct scores *s, int64_t row, float *line) {
  const int64_t t = s->first + row;
  const int64_t prefix = within(a->places[2 * t + 1] - s->k0, s->n);
  const int64_t start = larger(prefix, within(a->places[2 * t] - s->k0, s->n));
  const int64_t end = larger(start, within(t + 1 - s->k0, s->n));
  for (int64_t i = prefix; i < start; i++) line[i] = -INFINITY;
  for (int64_t i = end; i < s->n; i++) line[i] = -INFINITY;
  return prefix + end - start > 0;
}

INLINE void multiplyHead(const ELEMENT *panels, int64_t panelStride, const PAIRED *x, int64_t steps, struct block b) {
  b.factors[0] = (struct factor){panels, panelStride, x, steps};
  b.count = 1;
  multiplyAll(b);
}

// One line of scores becomes weights relative to the new maximum; returns the factor for what was summed before.
static float weigh(float *line, int64_t n, float scale, float *most, float *sum) {
  VECTOR top = LOAD(line);
  for (int64_t i = VECTOR_FLOATS; i < n; i += VECTOR_FLOATS) top = MAXIMUM(top, LOAD(line + i));
  const float found = largestOf(top) * scale, before = *most;
  *most = found > before ? found : before;
  const VECTOR factor = spread(scale), shift = spread(-*most);
  VECTOR total = ZERO();
  EACH_VECTOR(i, n) {
    const VECTOR p = exponential(FUSED(shift, factor, LOAD(line + i)));
    STORE(line + i, p);
    total += p;
  }
  const float fade = before == -INFINITY ? 0 : expf(before - *most);
  *sum = *sum * fade + sumOf(total);
  return fade;
}

struct attending {
  struct attention a;
  ELEMENT *keys, *values;
  PAIRED *q, *p;
  float *scores, *o, *most, *sum;
};

// The queries [first, first + rows) of one head.
static void attend(const struct attending *w, int64_t head, int64_t first, int64_t rows, struct ggml_tensor *dst) {
  const struct attention *a = &w->a;
  const int64_t size = a->size;
  packInputs(w->q, (const char *)headAt(a, head, first), (int64_t)a->qkv->nb[2], rows, size);
  for (int64_t i = 0; i < rows; i++) {
    w->most[i] = -INFINITY;
    w->sum[i] = 0;
  }
  memset(w->o, 0, (size_t)(rows * size) * sizeof(float));
  for (int64_t k0 = 0; k0 < first + rows; k0 += keyColumns) {
    struct scores s = {first, rows, k0, 0};
    if (!meets(a, &s)) continue;
    const ELEMENT *keys = w->keys + k0 * paddedColumns(size);
    multiplyHead(keys, panelElements(size), w->q, stepsOf(size), (struct block){
        .rows = rows, .n = s.n, .y = w->scores, .yStride = keyColumns});
    for (int64_t i = 0; i < rows; i++) {
      float *line = w->scores + i * keyColumns, *o = w->o + i * size;
      // Not told by the maximum: a score that is not a number can be lost there.
      if (!hideKeys(a, &s, i, line)) {
        memset(line, 0, (size_t)s.n * sizeof(float));
        continue;
      }
      const float fade = weigh(line, s.n, a->scale, w->most + i, w->sum + i);
      if (fade != 1) for (int64_t d = 0; d < size; d++) o[d] *= fade;
    }
    packInputs(w->p, (const char *)w->scores, keyColumns * sizeof(float), rows, s.n);
    multiplyHead(w->values + k0 * panelRows, panelElements(a->padded), w->p, stepsOf(s.n), (struct block){
        .rows = rows, .n = size, .y = w->o, .yStride = size, .init = w->o, .initStride = size});
  }
  float *const sums = floatsOf(dst->src[3]);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t t = first + i;
    float *to = (float *)(dst->data + (size_t)head * size * sizeof(float) + (size_t)t * dst->nb[1]);
    const float inverse = 1 / w->sum[i];
    for (int64_t d = 0; d < size; d++) to[d] = w->o[i * size + d] * inverse;
    sums[t * a->heads + head] = w->most[i] + logf(w->sum[i]);
  }
}

// dst [D · H, T]; sources: scratch, qkv [D, H + 2K, T], places i32 [2, T], and the logarithm of each query's sum
// [H, T], which is written too. The value is the scale of the scores; bits: H, K, first and number of key heads.
EXPORT void hone_attention(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  char *at = scratchOf(dst->src[0], ith, &nth);
  if (at == NULL) return;
  const struct settings s = settingsOf(userdata);
  struct attending w = {.a = attentionOf(dst, s)};
  const struct attention *a = &w.a;
  const int64_t firstShared = s.bits >> 16 & 255, count = s.bits >> 24, group = a->heads / a->shared;
  w.keys = take(&at, keyBytes(a->padded, a->size));
  w.values = take(&at, turnedBytes(a->padded, a->size));
  w.q = take(&at, inputBytes(queryRows, a->size));
  w.p = take(&at, inputBytes(queryRows, keyColumns));
  w.scores = take(&at, scoreBytes);
  w.o = take(&at, queryRows * a->size * 4);
  w.most = take(&at, queryRows * 4);
  w.sum = take(&at, queryRows * 4);
  // A block of queries costs as much as the keys before its end; threads take equal parts of that.
  const int64_t blocks = ceilDivide(a->tokens, queryRows), each = blocks * (blocks + 1) / 2;
  int64_t spent = 0, packed = -1;
  BEGIN();
  for (int64_t shared = firstShared; shared < firstShared + count; shared++) {
    for (int64_t block = 0; block < blocks; block++) {
      const int64_t owner = spent * nth / (each * count);
      spent += block + 1;
      if (owner != ith) continue;
      if (packed != shared) {
        packTokens(w.keys, a, a->heads + shared);
        packChannels(w.values, a, a->heads + a->shared + shared);
        packed = shared;
      }
      const int64_t first = block * queryRows;
      for (int64_t member = 0; member < group; member++)
        attend(&w, shared * group + member, first, smaller(queryRows, a->tokens - first), dst);
    }
  }
  END();
}

struct unattending {
  struct attention a;
  const struct ggml_tensor *attended, *grad, *sums;
  ELEMENT *keys, *values, *turnedKeys, *pPanels, *dPanels;
  PAIRED *q, *dO, *turnedQ, *turnedDO, *d;
  float *scores, *dScores, *dQ, *turnedDK, *turnedDV, *delta;
};

INLINE const char *ofHead(const struct ggml_tensor *t, const struct attention *a, int64_t head, int64_t token) {
  return t->data + (size_t)(head * a->size) * sizeof(float) + (size_t)token * t->nb[1];
}

// Weights p and the gradients of the scores, s = p (dp − δ) · scale, of one line.
INLINE void unweigh(float *p, float *d, int64_t n, float scale, float logSum, float delta) {
  const VECTOR factor = spread(scale), shift = spread(-logSum), mean = spread(delta);
  EACH_VECTOR(i, n) {
    const VECTOR weight = exponential(FUSED(shift, factor, LOAD(p + i)));
    STORE(p + i, weight);
    STORE(d + i, weight * (LOAD(d + i) - mean) * factor);
  }
}

static void packScorePanels(ELEMENT *to, const float *scores, int64_t rows, int64_t n) {
  for (int64_t c = 0; c < n; c += panelRows, to += panelElements(rows))
    packPanelTransposed(to, (const char *)(scores + c), keyColumns * sizeof(float), panelRows, rows);
}

// One block of queries against one of keys.
static void unattendKeys(const struct unattending *w, int64_t head, const struct scores *s) {
  const struct attention *a = &w->a;
  const int64_t size = a->size, rows = s->rows;
  const struct block scores = {.rows = rows, .n = s->n, .yStride = keyColumns};
  struct block p = scores, d = scores;
  p.y = w->scores;
  d.y = w->dScores;
  multiplyHead(w->keys + s->k0 * paddedColumns(size), panelElements(size), w->q, stepsOf(size), p);
  multiplyHead(w->values + s->k0 * paddedColumns(size), panelElements(size), w->dO, stepsOf(size), d);
  const float *sums = floatsOf(w->sums);
  for (int64_t i = 0; i < rows; i++) {
    float *line = w->scores + i * keyColumns;
    hideKeys(a, s, i, line);
    unweigh(line, w->dScores + i * keyColumns, s->n, a->scale, sums[(s->first + i) * a->heads + head], w->delta[i]);
  }
  packScorePanels(w->pPanels, w->scores, rows, s->n);
  packScorePanels(w->dPanels, w->dScores, rows, s->n);
  packInputs(w->d, (const char *)w->dScores, keyColumns * sizeof(float), rows, s->n);
  multiplyHead(w->turnedKeys + s->k0 * panelRows, panelElements(a->padded), w->d, stepsOf(s->n), (struct block){
      .rows = rows, .n = size, .y = w->dQ, .yStride = size, .init = w->dQ, .initStride = size});
  float *const dk = w->turnedDK + s->k0, *const dv = w->turnedDV + s->k0;
  multiplyHead(w->dPanels, panelElements(rows), w->turnedQ, stepsOf(rows), (struct block){
      .rows = size, .n = s->n, .y = dk, .yStride = a->padded, .init = dk, .initStride = a->padded});
  multiplyHead(w->pPanels, panelElements(rows), w->turnedDO, stepsOf(rows), (struct block){
      .rows = size, .n = s->n, .y = dv, .yStride = a->padded, .init = dv, .initStride = a->padded});
}

INLINE float *gradientAt(struct ggml_tensor *dst, int64_t head, int64_t token) {
  return (float *)(dst->data + (size_t)head * dst->nb[1] + (size_t)token * dst->nb[2]);
}

static void packShared(const struct unattending *w, int64_t shared) {
  const struct attention *a = &w->a;
  packTokens(w->keys, a, a->heads + shared);
  packTokens(w->values, a, a->heads + a->shared + shared);
  packChannels(w->turnedKeys, a, a->heads + shared);
}

// Rows of channels become rows of tokens.
static void turnBack(const struct unattending *w, const float *from, int64_t head, struct ggml_tensor *dst) {
  const int64_t size = w->a.size, padded = w->a.padded;
  for (int64_t t = 0; t < w->a.tokens; t++) {
    float *to = gradientAt(dst, head, t);
    for (int64_t d = 0; d < size; d++) to[d] = from[d * padded + t];
  }
}

static void unattendHead(const struct unattending *w, int64_t head, struct ggml_tensor *dst) {
  const struct attention *a = &w->a;
  const int64_t size = a->size;
  memset(w->turnedDK, 0, (size_t)(size * a->padded) * sizeof(float));
  memset(w->turnedDV, 0, (size_t)(size * a->padded) * sizeof(float));
  for (int64_t first = 0; first < a->tokens; first += queryRows) {
    const int64_t rows = smaller(queryRows, a->tokens - first);
    const char *q = (const char *)headAt(a, head, first), *dO = ofHead(w->grad, a, head, first);
    const int64_t stride = (int64_t)a->qkv->nb[2], outStride = (int64_t)w->grad->nb[1];
    packInputs(w->q, q, stride, rows, size);
    packInputs(w->dO, dO, outStride, rows, size);
    packInputsTransposed(w->turnedQ, q, stride, size, rows);
    packInputsTransposed(w->turnedDO, dO, outStride, size, rows);
    memset(w->dQ, 0, (size_t)(rows * size) * sizeof(float));
    for (int64_t i = 0; i < rows; i++) {
      const float *o = (const float *)ofHead(w->attended, a, head, first + i);
      const float *g = (const float *)(dO + i * outStride);
      VECTOR sum = ZERO();
      EACH_VECTOR(d, size) { sum = FUSED(sum, loadSome(o + d, size - d), loadSome(g + d, size - d)); }
      w->delta[i] = sumOf(sum);
    }
    for (int64_t k0 = 0; k0 < first + rows; k0 += keyColumns) {
      struct scores s = {first, rows, k0, 0};
      if (meets(a, &s)) unattendKeys(w, head, &s);
    }
    for (int64_t i = 0; i < rows; i++)
      memcpy(gradientAt(dst, head, first + i), w->dQ + i * size, (size_t)size * sizeof(float));
  }
  turnBack(w, w->turnedDK, a->heads + head, dst);
  turnBack(w, w->turnedDV, 2 * a->heads + head, dst);
}

// dst [D, 3H, T] = the gradients of q, and those of k and v for each query head; sources: scratch, qkv, places,
// sums [H, T], attended [D · H, T], its gradient. Bits: H, K, first and number of heads; a thread takes whole heads.
EXPORT void hone_attention_back(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  char *at = scratchOf(dst->src[0], ith, &nth);
  if (at == NULL) return;
  const struct settings s = settingsOf(userdata);
  struct unattending w = {
      .a = attentionOf(dst, s), .sums = dst->src[3], .attended = dst->src[4], .grad = dst->src[5]};
  const int64_t size = w.a.size, padded = w.a.padded, firstHead = s.bits >> 16 & 255, count = s.bits >> 24;
  w.keys = take(&at, keyBytes(padded, size));
  w.values = take(&at, keyBytes(padded, size));
  w.turnedKeys = take(&at, turnedBytes(padded, size));
  w.turnedDK = take(&at, size * padded * 4);
  w.turnedDV = take(&at, size * padded * 4);
  w.q = take(&at, inputBytes(queryRows, size));
  w.dO = take(&at, inputBytes(queryRows, size));
  w.turnedQ = take(&at, inputBytes(size, queryRows));
  w.turnedDO = take(&at, inputBytes(size, queryRows));
  w.d = take(&at, inputBytes(queryRows, keyColumns));
  w.scores = take(&at, scoreBytes);
  w.dScores = take(&at, scoreBytes);
  w.pPanels = take(&at, scorePanelBytes);
  w.dPanels = take(&at, scorePanelBytes);
  w.dQ = take(&at, queryRows * size * 4);
  w.delta = take(&at, queryRows * 4);
  BEGIN();
  int64_t packed = -1;
  for (int64_t i = count * ith / nth; i < count * (ith + 1) / nth; i++) {
    const int64_t head = firstHead + i, shared = head / (w.a.heads / w.a.shared);
    if (shared != packed) packShared(&w, shared);
    packed = shared;
    unattendHead(&w, head, dst);
  }
  END();
}
