// What the processor and the system allow, asked of the processor itself: `__builtin_cpu_supports` needs a compiler
// runtime that says no to everything under `zig cc`.
#pragma once
#include <cpuid.h>
#include <stdint.h>

struct cpuid { uint32_t a, b, c, d; };

static struct cpuid cpuidOf(uint32_t leaf, uint32_t subleaf) {
  struct cpuid r = {0, 0, 0, 0};
  if ((uint32_t)__get_cpuid_max(0, NULL) >= leaf) __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
  return r;
}

// The register sets that the system saves when it switches between programs: bits of XCR0.
enum { savesYmm = 0x6, savesZmm = 0xe6 };
static int systemSaves(uint32_t sets) {
  enum { osxsave = 1 << 27 };
  if ((cpuidOf(1, 0).c & osxsave) == 0) return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & sets) == sets;
}

static inline int hasAvx2Fma(void) {
  enum { fma = 1 << 12, avx2 = 1 << 5 };
  return systemSaves(savesYmm) && (cpuidOf(1, 0).c & fma) != 0 && (cpuidOf(7, 0).b & avx2) != 0;
}

static inline int hasAvx512f(void) {
  enum { avx512f = 1 << 16 };
  return systemSaves(savesZmm) && (cpuidOf(7, 0).b & avx512f) != 0;
}

static inline int hasAvx512Bf16(void) {
  const uint32_t bwAndVl = 1u << 30 | 1u << 31;
  enum { bf16 = 1 << 5 };
  return hasAvx512f() && (cpuidOf(7, 0).b & bwAndVl) == bwAndVl && (cpuidOf(7, 1).a & bf16) != 0;
}

static inline int hasAmxBf16(void) {
  enum { bf16 = 1 << 22, tile = 1 << 24 };
  return (cpuidOf(7, 0).d & (bf16 | tile)) == (bf16 | tile);
}

// "GenuineIntel" in the order of the registers.
static inline int isIntel(void) {
  const struct cpuid r = cpuidOf(0, 0);
  return r.b == 0x756e6547 && r.d == 0x49656e69 && r.c == 0x6c65746e;
}
