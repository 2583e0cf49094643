// Arithmetic on vectors of floats through the compiler's vector types, the same source for every instruction set.
typedef int32_t INTEGERS __attribute__((vector_size(VECTOR_FLOATS * 4)));

INLINE VECTOR spread(float value) { return SPREAD_FLOAT(&value); }

// The first `count` floats, the rest zero.
INLINE VECTOR loadSome(const float *from, int64_t count) {
  if (count >= VECTOR_FLOATS) return LOAD(from);
  float values[VECTOR_FLOATS] = {0};
  memcpy(values, from, (size_t)count * sizeof(float));
  return LOAD(values);
}

INLINE void storeSome(float *to, VECTOR v, int64_t count) {
  if (count >= VECTOR_FLOATS) {
    STORE(to, v);
    return;
  }
  float values[VECTOR_FLOATS];
  STORE(values, v);
  memcpy(to, values, (size_t)count * sizeof(float));
}

INLINE float sumOf(VECTOR v) {
  float values[VECTOR_FLOATS], sum = 0;
  STORE(values, v);
  for (int i = 0; i < VECTOR_FLOATS; i++) sum += values[i];
  return sum;
}

INLINE float largestOf(VECTOR v) {
  float values[VECTOR_FLOATS];
  STORE(values, v);
  float most = values[0];
  for (int i = 1; i < VECTOR_FLOATS; i++) most = values[i] > most ? values[i] : most;
  return most;
}

// eˣ to 2e-7 relative for x from −87 to 88, limited to that range: x = n ln 2 + r, a polynomial of r, n added to the
// exponent's bits. The large constant moves n into the lowest bits of its sum with x. What is not a number stays none:
// x is the second operand of both limits, the one that Intel's instructions return then.
INLINE VECTOR exponential(VECTOR x) {
  x = MINIMUM(spread(88.0f), MAXIMUM(spread(-87.0f), x));
  const VECTOR shifted = FUSED(spread(12582912.0f), x, spread(1.44269504f));
  const VECTOR n = shifted - spread(12582912.0f);
  VECTOR r = FUSED(x, n, spread(-0.693359375f));
  r = FUSED(r, n, spread(2.12194440e-4f));
  VECTOR p = spread(1.0f / 5040);
  p = FUSED(spread(1.0f / 720), p, r);
  p = FUSED(spread(1.0f / 120), p, r);
  p = FUSED(spread(1.0f / 24), p, r);
  p = FUSED(spread(1.0f / 6), p, r);
  p = FUSED(spread(0.5f), p, r);
  p = FUSED(spread(1.0f), p, r);
  p = FUSED(spread(1.0f), p, r);
  return (VECTOR)((INTEGERS)p + ((INTEGERS)shifted << 23));
}
