// Intel AMX: tiles of 16 × 32 bf16, sums in f32 tiles; the f32 parts use AVX-512.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "avx512.h"
#include "bf16-row.h"
#include "cpu-supports.h"

#define ROUNDED
// Here panels come from memory more slowly than they are multiplied, and the second-level cache has 2 MiB.
#define BLOCK_TOKENS 288
#define OWN_TILES_FILE "amx-tiles.h"
#define BEGIN() configureTiles()
#define END() _tile_release()
static void configureTiles(void);
#include "kernels.h"

// Eight tiles of 16 rows of 64 bytes. Constant: GCC believes that the instruction reads 8 bytes only, and would drop
// what was written to the rest of a local one.
static const struct {
  uint8_t palette, startRow, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
} tileConfig = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

static void configureTiles(void) { _tile_loadconfig(&tileConfig); }

// Linux hands out the tile registers on request, once for the whole process.
EXPORT int hone_supported(void) {
  enum { requestPermission = 0x1023, tileData = 18 };
  if (!hasAvx512Bf16() || !hasAmxBf16()) return 0;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}
EXPORT int hone_preferred(void) { return 1; }
EXPORT int hone_speedup(void) { return 6; }
