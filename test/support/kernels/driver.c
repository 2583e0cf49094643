// Runs recorded calls of the kernels without ggml: what a variant does under an emulator or a sanitizer. Compiled
// with VARIANT set to one of native/*.c. Reads cases from standard input as recording.ts writes them, calls each
// operator for every thread in turn, and writes the results. Every tensor is an allocation of its own exact size.
#include VARIANT
#include <stdio.h>
#include <stdlib.h>
#ifdef GUARD_PAGES
#include <sys/mman.h>
#endif

enum { tensorLimit = 24 };
enum { isInput = 1, isMatrix, isTurned, isScratch, isResult, isAlias };

typedef void operator(struct ggml_tensor *dst, int ith, int nth, void *userdata);
static operator *const operators[] = {
    hone_product, hone_outer, hone_norm, hone_norm_back, hone_rotate, hone_gated, hone_gated_back, hone_attention,
    hone_attention_back, hone_head_stats, hone_head_back, hone_head_kl, hone_sum_slices,
};

static int32_t word(void) {
  int32_t value;
  if (fread(&value, 4, 1, stdin) != 1) exit(3);
  return value;
}

// Full of NaN, like what the operators are given in the tests. With GUARD_PAGES it ends where memory does, so that
// what is read or written past it ends the process, be it by an instruction that no sanitizer knows.
#ifdef GUARD_PAGES
static char *allocate(size_t bytes) {
  const size_t page = 4096, whole = (bytes + page - 1) / page * page;
  char *const data = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED || mprotect(data + whole, page, PROT_NONE) != 0) exit(4);
  memset(data, 255, whole);
  return data + whole - bytes;
}
static void release(char *data) { (void)data; }
#else
static char *allocate(size_t bytes) {
  char *data = NULL;
  if (posix_memalign((void **)&data, 64, bytes) != 0) exit(4);
  memset(data, 255, bytes);
  return data;
}
static void release(char *data) { free(data); }
#endif

static void readTensor(struct ggml_tensor *all, int at, const int64_t *sizes, int threads) {
  struct ggml_tensor *const t = all + at;
  const int32_t kind = word();
  for (int i = 0; i < 4; i++) t->ne[i] = word();
  for (int i = 0; i < 4; i++) t->nb[i] = (size_t)word();
  const int32_t other = word(), count = word();
  const int64_t rows = t->ne[1], columns = t->ne[0];
  if (kind == isAlias) t->data = all[other].data;
  else if (kind == isScratch) {
    t->nb[1] = (size_t)hone_scratch_bytes(sizes[0], sizes[1], sizes[2]);
    t->ne[1] = threads;
    t->data = allocate(t->nb[1] * (size_t)threads);
  } else if (kind == isMatrix || kind == isTurned) {
    t->data = allocate((size_t)hone_packed_bytes(rows, columns));
    const int64_t panels = (rows + hone_panel_rows() - 1) / hone_panel_rows();
    if (kind == isTurned) hone_transpose(t->data, all[other].data, columns, rows, 0, panels);
  } else t->data = allocate((size_t)count * 4);
  if (kind == isMatrix) {
    float *const values = (float *)allocate((size_t)count * 4);
    if (fread(values, 4, (size_t)count, stdin) != (size_t)count) exit(3);
    hone_pack(t->data, values, rows, columns, 0, rows);
    release((char *)values);
  } else if (kind == isInput && fread(t->data, 4, (size_t)count, stdin) != (size_t)count) exit(3);
  t->view_offs = (size_t)count; // words to write out
  t->type = kind;
}

static void call(struct ggml_tensor *all, int threads) {
  operator *const run = operators[word()];
  struct ggml_tensor *const dst = all + word();
  const uint32_t low = (uint32_t)word(), bits = (uint32_t)word();
  const int count = word();
  for (int i = 0; i < 10; i++) dst->src[i] = i < count ? all + word() : NULL;
  void *const userdata = (void *)(uintptr_t)((uint64_t)bits << 32 | low);
  // Threads have no order: the last one comes first.
  for (int ith = threads - 1; ith >= 0; ith--) run(dst, ith, threads, userdata);
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (!hone_supported()) return 2;
  for (int32_t cases = word(); cases > 0; cases--) {
    static struct ggml_tensor all[tensorLimit];
    memset(all, 0, sizeof all);
    int64_t sizes[3];
    for (int i = 0; i < 3; i++) sizes[i] = word();
    const int32_t tensors = word();
    for (int i = 0; i < tensors; i++) readTensor(all, i, sizes, threads);
    for (int32_t calls = word(); calls > 0; calls--) call(all, threads);
    for (int32_t results = word(); results > 0; results--) {
      const struct ggml_tensor *t = all + word();
      fwrite(t->data, 4, t->view_offs, stdout);
    }
    for (int i = 0; i < tensors; i++)
      if (all[i].type != isAlias) release(all[i].data);
  }
  return 0;
}
