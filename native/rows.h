// Operators on the rows of a matrix: norms, rotary embedding, gated units. Threads take equal parts of the rows.
#define EACH_VECTOR(i, n) for (int64_t i = 0; i < (n); i += VECTOR_FLOATS)

INLINE float inverseRms(const float *x, int64_t n, float epsilon) {
  VECTOR squares = ZERO();
  EACH_VECTOR(i, n) {
    const VECTOR v = loadSome(x + i, n - i);
    squares = FUSED(squares, v, v);
  }
  return 1 / sqrtf(sumOf(squares) / (float)n + epsilon);
}

// y = x / rms(x) · w (+ residual).
INLINE void normRow(float *y, const float *x, const float *w, const float *residual, int64_t n, float epsilon) {
  const VECTOR factor = spread(inverseRms(x, n, epsilon));
  EACH_VECTOR(i, n) {
    VECTOR v = loadSome(x + i, n - i) * factor * loadSome(w + i, n - i);
    if (residual != NULL) v += loadSome(residual + i, n - i);
    storeSome(y + i, v, n - i);
  }
}

// dx = r (w dy − x r² mean(w dy x)) with r = 1 / rms(x); dx may be dy.
INLINE void normBackRow(float *dx, const float *dy, const float *x, const float *w, const float *residual, int64_t n, float epsilon) {
  const float r = inverseRms(x, n, epsilon);
  VECTOR along = ZERO();
  EACH_VECTOR(i, n) {
    along = FUSED(along, loadSome(dy + i, n - i) * loadSome(w + i, n - i), loadSome(x + i, n - i));
  }
  const VECTOR factor = spread(r), pull = spread(sumOf(along) / (float)n * r * r);
  EACH_VECTOR(i, n) {
    VECTOR v = factor * (loadSome(w + i, n - i) * loadSome(dy + i, n - i) - loadSome(x + i, n - i) * pull);
    if (residual != NULL) v += loadSome(residual + i, n - i);
    storeSome(dx + i, v, n - i);
  }
}

// dst = x / rms(x) · w (+ residual); sources: x, w [n], where the bits are set the residual. The value is epsilon.
EXPORT void hone_norm(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  const struct settings s = settingsOf(userdata);
  const struct ggml_tensor *x = dst->src[0], *w = dst->src[1], *residual = s.bits ? dst->src[2] : NULL;
  const int64_t rows = rowsOf(dst);
  for (int64_t t = rows * ith / nth; t < rows * (ith + 1) / nth; t++)
    normRow(rowOf(dst, t), rowOf(x, t), floatsOf(w), residual ? rowOf(residual, t) : NULL, dst->ne[0], s.value);
}

// The gradient of x; sources: dy, x, w, where the bits are set a residual that is added.
EXPORT void hone_norm_back(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  const struct settings s = settingsOf(userdata);
  const struct ggml_tensor *dy = dst->src[0], *x = dst->src[1], *w = dst->src[2];
  const struct ggml_tensor *residual = s.bits ? dst->src[3] : NULL;
  const int64_t rows = rowsOf(dst);
  for (int64_t t = rows * ith / nth; t < rows * (ith + 1) / nth; t++) {
    const float *added = residual ? rowOf(residual, t) : NULL;
    normBackRow(rowOf(dst, t), rowOf(dy, t), rowOf(x, t), floatsOf(w), added, dst->ne[0], s.value);
  }
}

// Rotates a head of n numbers by the angles whose cosines and then sines are in `table`, forth or back.
INLINE void rotate(float *y, const float *x, const float *table, int64_t n, int halves, float direction) {
  const int64_t half = n / 2, step = halves ? 1 : 2, apart = halves ? half : 1;
  for (int64_t i = 0; i < half; i++) {
    const float a = x[i * step], b = x[i * step + apart], c = table[i], s = table[half + i] * direction;
    y[i * step] = a * c - b * s;
    y[i * step + apart] = a * s + b * c;
  }
}

enum { isInverse = 1, isHalves = 2, hasHeadNorm = 4, largestHead = 1024 };

// Queries, keys and values of all heads in one row per token, [D, H + 2K, T]. Forth: q and k of each head are normed
// (where the model does that) and rotated, v is copied. Sources: x, table [D, T], and with norms their weights.
static void rotateToken(struct ggml_tensor *dst, int64_t t, struct settings s, int64_t heads, int64_t shared) {
  const struct ggml_tensor *x = dst->src[0];
  const float *table = (const float *)(dst->src[1]->data + (size_t)t * dst->src[1]->nb[1]);
  const int64_t n = dst->ne[0], all = dst->ne[1];
  float normed[largestHead];
  for (int64_t head = 0; head < all; head++) {
    float *y = rowOf(dst, t * all + head);
    const float *from = rowOf(x, t * all + head);
    if (head >= heads + shared) {
      if (y != from) memcpy(y, from, (size_t)n * sizeof(float));
      continue;
    }
    if (s.bits & hasHeadNorm) {
      normRow(normed, from, floatsOf(dst->src[head < heads ? 2 : 3]), NULL, n, s.value);
      from = normed;
    }
    rotate(y, from, table, n, (s.bits & isHalves) != 0, 1);
  }
}

// Back: x holds the gradients of q, and those of k and v for each query head, [D, 3H, T]; the heads of a group are
// added up. With norms the last source is what they took, [D, H + 2K, T].
static void rotateTokenBack(struct ggml_tensor *dst, int64_t t, struct settings s, int64_t heads, int64_t shared) {
  const struct ggml_tensor *x = dst->src[0];
  const float *table = (const float *)(dst->src[1]->data + (size_t)t * dst->src[1]->nb[1]);
  const int64_t n = dst->ne[0], all = dst->ne[1], group = heads / shared;
  float sum[largestHead];
  for (int64_t head = 0; head < all; head++) {
    const int64_t kind = head < heads ? 0 : head < heads + shared ? 1 : 2;
    const int64_t members = kind == 0 ? 1 : group;
    const int64_t first = kind == 0 ? head : kind * heads + (head - heads - (kind - 1) * shared) * group;
    memcpy(sum, rowOf(x, t * 3 * heads + first), (size_t)n * sizeof(float));
    for (int64_t m = 1; m < members; m++) {
      const float *other = rowOf(x, t * 3 * heads + first + m);
      for (int64_t i = 0; i < n; i++) sum[i] += other[i];
    }
    float *y = rowOf(dst, t * all + head);
    if (kind == 2) {
      memcpy(y, sum, (size_t)n * sizeof(float));
      continue;
    }
    rotate(y, sum, table, n, (s.bits & isHalves) != 0, -1);
    if (s.bits & hasHeadNorm)
      normBackRow(y, y, rowOf(dst->src[4], t * all + head), floatsOf(dst->src[2 + kind]), NULL, n, s.value);
  }
}

// Bits: the flags above, the query heads from bit 4 on, the key heads from bit 18 on. The value is the norms' epsilon.
EXPORT void hone_rotate(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  const struct settings s = settingsOf(userdata);
  const int64_t heads = s.bits >> 4 & 0x3fff, shared = s.bits >> 18, tokens = dst->ne[2];
  for (int64_t t = tokens * ith / nth; t < tokens * (ith + 1) / nth; t++) {
    if (s.bits & isInverse) rotateTokenBack(dst, t, s, heads, shared);
    else rotateToken(dst, t, s, heads, shared);
  }
}

// The activation and its derivative: silu(x) = x σ(x); gelu(x) = x σ(2u), u = √(2/π) (x + 0.044715 x³), which is the
// form with tanh.
struct activation {
  VECTOR value, slope;
};

INLINE struct activation activate(VECTOR x, int gelu) {
  const VECTOR one = spread(1);
  if (!gelu) {
    const VECTOR gate = one / (one + exponential(-x));
    return (struct activation){x * gate, gate * (one + x * (one - gate))};
  }
  const VECTOR a = spread(1.5957691216f), b = spread(0.0713548162726f); // 2 √(2/π), and that times 0.044715
  const VECTOR square = x * x, gate = one / (one + exponential(-x * (a + b * square)));
  return (struct activation){x * gate, gate * (one + x * (one - gate) * (a + spread(3) * b * square))};
}

// dst [F, T] = activation(gate) · up; source: [2F, T], the gates above the ups. Bit 0: gelu instead of silu.
EXPORT void hone_gated(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  const int gelu = settingsOf(userdata).bits & 1;
  const struct ggml_tensor *x = dst->src[0];
  const int64_t n = dst->ne[0], rows = rowsOf(dst);
  for (int64_t t = rows * ith / nth; t < rows * (ith + 1) / nth; t++) {
    const float *gate = rowOf(x, t), *up = gate + n;
    float *y = rowOf(dst, t);
    EACH_VECTOR(i, n) {
      const VECTOR value = activate(loadSome(gate + i, n - i), gelu).value;
      storeSome(y + i, value * loadSome(up + i, n - i), n - i);
    }
  }
}

// dst [2F, T] = the gradient of the gates above that of the ups; sources: [2F, T], dy [F, T].
EXPORT void hone_gated_back(struct ggml_tensor *dst, int ith, int nth, void *userdata) {
  const int gelu = settingsOf(userdata).bits & 1;
  const struct ggml_tensor *x = dst->src[0], *grad = dst->src[1];
  const int64_t n = grad->ne[0], rows = rowsOf(dst);
  for (int64_t t = rows * ith / nth; t < rows * (ith + 1) / nth; t++) {
    const float *gate = rowOf(x, t), *up = gate + n, *dy = rowOf(grad, t);
    float *dGate = rowOf(dst, t), *dUp = dGate + n;
    EACH_VECTOR(i, n) {
      const struct activation a = activate(loadSome(gate + i, n - i), gelu);
      const VECTOR d = loadSome(dy + i, n - i), u = loadSome(up + i, n - i);
      storeSome(dUp + i, d * a.value, n - i);
      storeSome(dGate + i, d * u * a.slope, n - i);
    }
  }
}
