// A cuBLASLt for machines without a GPU: the same entry points, its own opaque structs, products by three loops. It refuses
// what the library refuses: k = 0, a leading dimension below the rows, a badly padded aux buffer, a wrong attribute size.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cublaslt_product.h"
#include "launch_config.h"

namespace {

bool fits(const Desc& d, const Layout& a, const Layout& b, const Layout& c) {
  const uint64_t m = d.trans_a ? a.cols : a.rows, k = d.trans_a ? a.rows : a.cols, n = d.trans_b ? b.rows : b.cols,
                 kb = d.trans_b ? b.cols : b.rows;
  if (!m || !n || !k || k != kb || c.rows != m || c.cols != n) return false;
  if (a.ld < int64_t(a.rows) || b.ld < int64_t(b.rows) || c.ld < int64_t(c.rows)) return false;
  if ((d.epilogue & 128) && (d.aux_ld < int64_t(m) || d.aux_ld % 8 || !d.aux)) return false;
  if ((d.epilogue & 4) && reinterpret_cast<uintptr_t>(d.bias) % 16) return false;
  if ((d.epilogue == 256 && d.trans_a) || (d.epilogue == 512 && !d.trans_b)) return false;
  const bool float8 = a.type >= 28 || b.type >= 28;
  if (float8 && (!d.trans_a || d.trans_b || (a.type == 29 && b.type == 29) || k % 16 || m % 16)) return false;
  return !(a.batch != c.batch || b.batch != c.batch);
}

}  // namespace

extern "C" {

// A handle belongs to the context that is current when it is made, and runs in no other.
static void* current_context() {
  static auto get = reinterpret_cast<int (*)(void**)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetCurrent"));
  void* c = nullptr;
  get(&c);
  return c;
}
int cublasLtCreate(void** h) {
  *h = new void*(current_context());
  return *static_cast<void**>(*h) ? Ok : Invalid;
}
size_t cublasLtGetVersion() { return 130100; }
const char* cublasLtGetStatusName(int) { return "SIMULATED"; }

int cublasLtMatmulDescInit_internal(Desc* d, size_t size, int compute, int scale) {
  if (size < sizeof(Desc)) return Invalid;
  *d = Desc{};
  d->compute = compute;
  d->scale = scale;
  return Ok;
}
int cublasLtMatmulDescSetAttribute(Desc* d, int a, const void* from, size_t n) {
  return access(d, desc_fields, a, nullptr, from, n, nullptr);
}
int cublasLtMatmulDescGetAttribute(Desc* d, int a, void* to, size_t n, size_t* w) {
  return access(d, desc_fields, a, to, nullptr, n, w);
}
int cublasLtMatrixLayoutInit_internal(Layout* l, size_t, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  *l = Layout{};
  l->type = type;
  l->rows = rows;
  l->cols = cols;
  l->ld = ld;
  return Ok;
}
int cublasLtMatrixLayoutSetAttribute(Layout* l, int a, const void* from, size_t n) {
  return access(l, layout_fields, a, nullptr, from, n, nullptr);
}
int cublasLtMatrixLayoutGetAttribute(Layout* l, int a, void* to, size_t n, size_t* w) {
  return access(l, layout_fields, a, to, nullptr, n, w);
}
int cublasLtMatmulPreferenceInit_internal(Preference* p, size_t) {
  *p = Preference{};
  return Ok;
}
int cublasLtMatmulPreferenceSetAttribute(Preference* p, int a, const void* from, size_t n) {
  return access(p, preference_fields, a, nullptr, from, n, nullptr);
}
int cublasLtMatmulPreferenceGetAttribute(Preference* p, int a, void* to, size_t n, size_t* w) {
  return access(p, preference_fields, a, to, nullptr, n, w);
}

int cublasLtMatmulAlgoGetHeuristic(void*, const Desc* d, const Layout* a, const Layout* b, const Layout*,
    const Layout* c, const Preference* p, int asked, Result* results, int* found) {
  *found = 0;
  if (!fits(*d, *a, *b, *c)) return NotSupported;
  for (int i = 0; i < asked && i < 3; ++i) {
    results[i] = Result{};
    results[i].algo.number = 100 + uint64_t(i);
    std::memcpy(results[i].algo.align, p->align, sizeof p->align);
    ++*found;
  }
  return Ok;
}
int cublasLtMatmulAlgoCheck(void*, const Desc* d, const Layout* a, const Layout* b, const Layout*, const Layout* c,
    const Algo* algo, Result* r) {
  if (algo->number < 100 || algo->number > 102 || !fits(*d, *a, *b, *c)) return Invalid;
  r->workspace = 0;
  return Ok;
}
int cublasLtMatmulAlgoConfigGetAttribute(const Algo*, int, void*, size_t, size_t*) { return Ok; }
int cublasLtMatmulAlgoConfigSetAttribute(Algo*, int, const void*, size_t) {
  return NotSupported;
}  // one algorithm, without options

}  // extern "C"

// --- a product is one or two kernels, launched through the driver -----------------------------------------------------------

namespace {

void launch(const char* name, unsigned, unsigned, unsigned, unsigned, void** parameters) {
  void* workspace = *static_cast<void**>(parameters[0]);
  if (std::strcmp(name, "product") == 0) {
    const auto& p = *static_cast<Problem*>(parameters[2]);
    const auto& at = *static_cast<Operands*>(parameters[1]);
    product(p, at, workspace);
    if (p.desc.epilogue < 256 && !(p.desc.epilogue & 64)) return;
    if (p.desc.epilogue == 208) result_sums(p, at);
    if (p.desc.epilogue >= 256) sums(p, at);
    static auto* quick = reinterpret_cast<void (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simulated_quick"));
    return quick();
  }
  if (*static_cast<unsigned char*>(workspace) != 0x5a) std::abort();  // "finish": the first kernel wrote it
}

struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  template <class F> F* get(const char* name) { return reinterpret_cast<F*>(dlsym(library, name)); }
  int (*launch_ex)(const Config*, void*, void**, void**) = get<int(const Config*, void*, void**, void**)>(
      "cuLaunchKernelEx");
  int (*memset_async)(unsigned long long, unsigned char, size_t,
      void*) = get<int(unsigned long long, unsigned char, size_t, void*)>("cuMemsetD8Async");
  void* (*function)(void (*)(const char*, unsigned, unsigned, unsigned, unsigned, void**), const char*, int,
      const size_t*) = get<void*(void (*)(const char*, unsigned, unsigned, unsigned, unsigned, void**), const char*,
      int, const size_t*)>("simulated_function");
};

}  // namespace

extern "C" {

// An algorithm runs only on pointers that have the alignment it was asked for. float16 takes two kernels, bfloat16 a memory set
// before its kernel, and float64 a parameter that is another one every time.
int cublasLtMatmul(void* handle, const Desc* d, const void* alpha, const void* pa, const Layout* a, const void* pb,
    const Layout* b, const void* beta, const void* pc, const Layout*, void* pd, const Layout* c, const Algo* algo,
    void* workspace, size_t, void* stream) {
  if (*static_cast<void**>(handle) != current_context()) return 14;
  if (!fits(*d, *a, *b, *c) || pc != pd || !workspace || algo->number == 100)
    return algo->number == 100 && fits(*d, *a, *b, *c) ? 13 : Invalid;
  const void* pointers[] = {pa, pb, pc, pd};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(pointers[i]) % algo->align[i]) return 13;
  static Driver driver;
  static const size_t sizes[] = {sizeof(void*), sizeof(Operands), sizeof(Problem), sizeof(uint64_t)};
  static void *first = driver.function(launch, "product", 4, sizes),
              *second = driver.function(launch, "finish", 1, sizes);
  static uint64_t calls = 0;
  uint64_t number = c->type == 1 ? ++calls : 0;
  Problem problem;
  std::memset(&problem, 0, sizeof problem);
  problem = {*d, *a, *b, *c, scalar(alpha, d->scale), scalar(beta, d->scale)};
  Operands operands{pa, pb, pd};
  void* parameters[] = {&workspace, &operands, &problem, &number};
  Attribute attribute{};
  attribute.id = 4;  // a cluster of two blocks
  const unsigned cluster[3] = {2, 1, 1};
  std::memcpy(attribute.value, cluster, sizeof cluster);
  Config config{{2, 1, 1}, {128, 1, 1}, 0, stream, &attribute, 1};
  if (c->type == 14 && driver.memset_async(reinterpret_cast<uintptr_t>(workspace), 0, 64, stream) != 0) return 14;
  if (driver.launch_ex(&config, first, parameters, nullptr) != 0) return 14;
  if (c->type != 2) return Ok;
  attribute = {};
  attribute.id = 6;  // it may begin before the first one ends
  attribute.value[0] = 1;
  size_t bytes = sizeof workspace;  // its parameters are given packed
  void* packed[] = {reinterpret_cast<void*>(1), &workspace, reinterpret_cast<void*>(2), &bytes, nullptr};
  return driver.launch_ex(&config, second, nullptr, packed) == 0 ? Ok : 14;
}

}  // extern "C"
