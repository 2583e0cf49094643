// A tile of 32 tokens and one panel of 32 rows in four tile registers; included by bf16.h.
// Inputs lie in blocks of 16 tokens × 32 columns, block after block along the columns.
enum { blockPairs = 16 * 16 };

struct own_tile {
  const uint16_t *w; // one panel
  const uint32_t *x;
  int64_t xStride, steps;
  float *y; // [tokens][yStride]
  int64_t yStride, width;
  int add;
};

INLINE void own_multiply(const struct own_tile *t, float *y, int64_t yStride, const int tall, const int wide) {
  const int64_t rowBytes = yStride * (int64_t)sizeof(float);
  float *const low = y + 16 * yStride;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (t->add) {
    _tile_loadd(0, y, rowBytes);
    if (wide) _tile_loadd(1, y + 16, rowBytes);
    if (tall) _tile_loadd(2, low, rowBytes);
    if (tall && wide) _tile_loadd(3, low + 16, rowBytes);
  }
  const uint16_t *w = t->w;
  const uint32_t *x = t->x, *xLow = t->x + 16 * t->steps;
  for (int64_t s = 0; s < t->steps; s += 16) {
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
  _tile_stored(0, y, rowBytes);
  if (wide) _tile_stored(1, y + 16, rowBytes);
  if (tall) _tile_stored(2, low, rowBytes);
  if (tall && wide) _tile_stored(3, low + 16, rowBytes);
}

static void own_smallTile(const struct own_tile *t, float *y, int64_t yStride, int64_t tokens) {
  const int wide = t->width > 16;
  if (tokens > 16) {
    if (wide) own_multiply(t, y, yStride, 1, 1);
    else own_multiply(t, y, yStride, 1, 0);
  } else if (wide) own_multiply(t, y, yStride, 0, 1);
  else own_multiply(t, y, yStride, 0, 0);
}

// Results at the matrix's last rows and after the last token go through a buffer.
static void own_anyTile(const struct own_tile *t, int64_t tokens) {
  if (t->width % 16 == 0 && tokens % 16 == 0) {
    own_smallTile(t, t->y, t->yStride, tokens);
    return;
  }
  float buffer[32 * panelRows];
  memset(buffer, 0, sizeof buffer);
  const size_t bytes = (size_t)t->width * sizeof(float);
  for (int64_t i = 0; t->add && i < tokens; i++) memcpy(buffer + i * panelRows, t->y + i * t->yStride, bytes);
  own_smallTile(t, buffer, panelRows, tokens);
  for (int64_t i = 0; i < tokens; i++) memcpy(t->y + i * t->yStride, buffer + i * panelRows, bytes);
}

static void own_packInputs(const struct product *c, int64_t first, int64_t count, int64_t k0, int64_t columns) {
  const int64_t blocks = ceilDivide(columns, 32);
  for (int64_t t = 0; t < ceilDivide(count, 16) * 16; t++) {
    uint32_t *to = (uint32_t *)c->scratch + t / 16 * blocks * blockPairs + t % 16 * 16;
    const float *from = (const float *)(c->x + (size_t)(first + t) * c->xStride) + k0;
    for (int64_t b = 0; b < blocks; b++, to += blockPairs) {
      const int64_t left = t < count ? smaller(32, columns - b * 32) : 0;
      if (left < 32) memset(to, 0, 64);
      if (left > 0) bf16Row((uint16_t *)to, from + b * 32, left, c->lowInputs);
    }
  }
}
