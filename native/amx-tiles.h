// A tile of 32 tokens and one panel of 32 rows in four tile registers; included by product.h.
// Inputs lie in blocks of 16 tokens × 32 columns, block after block along the columns.
enum { blockPairs = 16 * 16 };

INLINE void multiplyTile(const struct tile *t, float *y, int64_t yStride, const int tall, const int wide) {
  const int64_t rowBytes = yStride * (int64_t)sizeof(float), initBytes = t->initStride * (int64_t)sizeof(float);
  if (t->init != NULL) {
    const float *const initLow = t->init + 16 * t->initStride;
    _tile_loadd(0, t->init, initBytes);
    if (wide) _tile_loadd(1, t->init + 16, initBytes);
    if (tall) _tile_loadd(2, initLow, initBytes);
    if (tall && wide) _tile_loadd(3, initLow + 16, initBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int f = 0; f < t->count; f++) {
    const int64_t steps = t->factors[f].steps;
    const uint16_t *w = t->factors[f].panels;
    const uint32_t *x = t->factors[f].x, *xLow = x + 16 * steps;
    for (int64_t s = 0; s < steps; s += 16) {
      _tile_loadd(4, x, 64);
      _tile_loadd(6, w, panelRows * 4);
      _tile_dpbf16ps(0, 4, 6);
      if (wide) {
        _tile_loadd(7, w + panelRows, panelRows * 4);
        _tile_dpbf16ps(1, 4, 7);
      }
      if (tall) {
        _tile_loadd(5, xLow, 64);
        _tile_dpbf16ps(2, 5, 6);
        if (wide) _tile_dpbf16ps(3, 5, 7);
      }
      x += blockPairs;
      xLow += blockPairs;
      w += panelRows * 32;
    }
  }
  float *const low = y + 16 * yStride;
  _tile_stored(0, y, rowBytes);
  if (wide) _tile_stored(1, y + 16, rowBytes);
  if (tall) _tile_stored(2, low, rowBytes);
  if (tall && wide) _tile_stored(3, low + 16, rowBytes);
}

static void smallTile(const struct tile *t, float *y, int64_t yStride, int64_t tokens) {
  const int wide = t->width > 16;
  if (tokens > 16) {
    if (wide) multiplyTile(t, y, yStride, 1, 1);
    else multiplyTile(t, y, yStride, 1, 0);
  } else if (wide) multiplyTile(t, y, yStride, 0, 1);
  else multiplyTile(t, y, yStride, 0, 0);
}

INLINE int fitsVectors(int64_t width, int64_t tokens) { return width % 16 == 0 && tokens % 16 == 0; }

static void packInputs(PAIRED *to, const char *from, int64_t stride, int64_t rows, int64_t columns) {
  const int64_t blocks = ceilDivide(columns, 32);
  for (int64_t t = 0; t < ceilDivide(rows, 16) * 16; t++) {
    uint32_t *place = to + t / 16 * blocks * blockPairs + t % 16 * 16;
    const float *row = (const float *)(from + t * stride);
    for (int64_t b = 0; b < blocks; b++, place += blockPairs) {
      const int64_t left = t < rows ? smaller(32, columns - b * 32) : 0;
      if (left < 32) memset(place, 0, 64);
      if (left > 0) convertRow((uint16_t *)place, row + b * 32, left);
    }
  }
}

// The same of a transposed matrix: `columns` rows of memory, each holding one number of every input.
static void packInputsTransposed(PAIRED *to, const char *from, int64_t stride, int64_t rows, int64_t columns) {
  const int64_t blocks = ceilDivide(columns, 32);
  uint16_t line[16];
  for (int64_t t = 0; t < rows; t += 16) {
    const int64_t width = smaller(16, rows - t);
    if (width < 16) memset(line, 0, sizeof line);
    for (int64_t c = 0; c < blocks * 32; c++) {
      uint16_t *place = (uint16_t *)(to + (t / 16 * blocks + c / 32) * blockPairs) + c % 32;
      if (c < columns) convertRow(line, (const float *)(from + c * stride) + t, width);
      else memset(line, 0, sizeof line);
      for (int64_t i = 0; i < 16; i++) place[i * 32] = line[i];
    }
  }
}
