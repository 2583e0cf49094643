// Intel AMX: tiles of 16 × 32 bf16, sums in f32 tiles; the f32 parts use AVX-512.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "avx512.h"
#include "bf16-row.h"

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

static uint32_t features(void) {
  uint32_t a = 7, b, c = 0, d;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return d;
}

// Linux hands out the tile registers on request, once for the whole process.
EXPORT int hone_supported(void) {
  enum { requestPermission = 0x1023, tileData = 18, amxBf16 = 1 << 22, amxTile = 1 << 24 };
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw")) return 0;
  if ((features() & (amxBf16 | amxTile)) != (amxBf16 | amxTile)) return 0;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}
EXPORT int hone_preferred(void) { return 1; }
EXPORT int hone_speedup(void) { return 6; }
