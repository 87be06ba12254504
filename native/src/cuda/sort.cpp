#include "cuda/sort.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/sort_source.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const char* source() {
  static const char* text = joined_source({kSortSource});
  return text;
}
const Family family{"sort", source};

constexpr int64_t kMostPadded = 1 << 17, kMostSelected = 1024, kMostPairs = int64_t(1) << 28;

int64_t power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

struct Rows {                                   // what is sorted
  Tensor x;
  int64_t rows, n;
  bool wide, descending;
  int device;
  int64_t most() const { return wide ? 2048 : 4096; }              // keys that a block sorts
  size_t pair_size() const { return wide ? 16 : 8; }
  CUfunction kernel(const char* entry, int64_t keys) const {
    return find_kernel(family, entry, key_of(int(x->dtype()), __builtin_ctzll(uint64_t(keys))), device, [&] {
      return std::vector<std::string>{std::string("ELEMENT=") + element_type(x->dtype()), "KEYS=" + std::to_string(keys), wide ? "WIDE=1" : "WIDE=0"};
    });
  }
  Tensor pairs(int64_t count) const { return empty(Dims{rows * count * int64_t(pair_size() / 8)}, DType::i64, x->device()); }
};

int threads_of(int64_t keys) { return int(std::clamp<int64_t>(keys / 2, 32, 1024)); }

// The first `keep` of each part of at most r.most() of the row, or of `given` pairs; to `kept`, or to values and places.
bool chunks(const Rows& r, const Tensor& given, int64_t n, const Tensor& kept, const Tensor& values, const Tensor& places, int64_t keep) {
  const int64_t keys = std::clamp<int64_t>(power_of_two(n), 64, r.most()), parts = (n + keys - 1) / keys;
  const CUfunction f = r.kernel("chunks", keys);
  if (!f || parts > kMostRows) return false;
  const void *x = r.x->data(), *pairs = given ? given->data() : nullptr;
  void *to = kept ? kept->data() : nullptr, *v = values ? values->data() : nullptr, *p = places ? places->data() : nullptr;
  int64_t width = r.n;
  int descending = r.descending;
  void* arguments[] = {&x, &pairs, &n, &width, &to, &v, &p, &keep, &descending};
  launch(f, r.rows, parts, threads_of(keys), 1, arguments, r.device);
  return true;
}

bool sort_long(const Rows& r, const Tensor& values, const Tensor& places) {
  int64_t keys = r.most(), padded = power_of_two(r.n), n = r.n;
  if (padded > kMostPadded || r.rows > kMostRows || r.rows * padded > kMostPairs) return false;
  const CUfunction far = r.kernel("far", keys), near = r.kernel("near", keys), unpack = r.kernel("unpack", keys);
  if (!far || !near || !unpack) return false;
  const Tensor pairs = r.pairs(padded);
  // Every part of the padded row is written: parts beyond the row's end are pairs that come last.
  const CUfunction first = r.kernel("chunks", keys);
  const void *x = r.x->data(), *none = nullptr;
  void *to = pairs->data(), *nothing = nullptr;
  int descending = r.descending;
  void* start[] = {&x, &none, &n, &n, &to, &nothing, &nothing, &keys, &descending};
  if (!first) return false;
  launch(first, r.rows, padded / keys, threads_of(keys), 1, start, r.device);
  for (int64_t run = 2 * keys; run <= padded; run *= 2) {
    for (int64_t step = 0, next = run / 4; step == 0 || step >= keys; step = next, next /= 2) {
      void* arguments[] = {&to, &padded, &run, &step};
      launch(far, (padded / 2 + 255) / 256, r.rows, 256, 1, arguments, r.device);
    }
    void* arguments[] = {&to, &padded};
    launch(near, padded / keys, r.rows, threads_of(keys), 1, arguments, r.device);
  }
  void *v = values->data(), *p = places->data();
  void* last[] = {&x, &to, &n, &padded, &v, &p};
  launch(unpack, (n + 255) / 256, r.rows, 256, 1, last, r.device);
  return true;
}

// The first k of each row, without sorting the others.
bool select(const Rows& r, int64_t k, const Tensor& values, const Tensor& places) {
  const int64_t keys = std::max<int64_t>(power_of_two(k), 64);
  const CUfunction f = r.kernel("smallest", keys);
  if (!f || r.n >= int64_t(1) << 31) return false;
  const void* x = r.x->data();
  void *v = values->data(), *p = places->data();
  int64_t n = r.n, keep = k;
  int descending = r.descending;
  void* arguments[] = {&x, &n, &v, &p, &keep, &descending};
  launch(f, r.rows, 1, std::max(threads_for(n / 16), 64), 1, arguments, r.device);
  return true;
}

// The rows along `dim`, which becomes the last dimension; false where there is no kernel.
bool rows_of(const Tensor& given, int64_t dim, bool descending, Rows* r) {
  const DType t = given->dtype();
  if (!kernels_ready() || !elementwise_dtype(t) || t == DType::f8e4m3fn || t == DType::f8e5m2 || given->dim() == 0) return false;
  r->x = contiguous(dim == given->dim() - 1 ? given : transpose(*given, dim, -1));
  r->n = given->sizes()[size_t(dim)];
  r->rows = r->n ? given->numel() / r->n : 0;
  r->wide = itemsize(t) == 8;
  r->descending = descending;
  r->device = given->device().index;
  return r->n > 0 && r->rows > 0 && r->rows < int64_t(1) << 31;
}

Tensor back(const Tensor& t, int64_t dim) { return dim == t->dim() - 1 ? t : contiguous(transpose(*t, dim, -1)); }

bool wrapped(const Tensor& self, int64_t* dim) {
  if (*dim < -self->dim() || *dim >= self->dim()) return false;
  if (*dim < 0) *dim += self->dim();
  return true;
}

}  // namespace

Tensor sort(const Tensor& self, int64_t dim, bool descending, Tensor* values) {
  Rows r;
  if (!wrapped(self, &dim) || !rows_of(self, dim, descending, &r)) return {};
  Tensor sorted = empty(r.x->sizes(), self->dtype(), self->device()), places = empty(r.x->sizes(), DType::i64, self->device());
  const bool done = r.n <= r.most() ? chunks(r, {}, r.n, {}, sorted, places, r.n) : sort_long(r, sorted, places);
  if (!done) return {};
  *values = back(sorted, dim);
  return back(places, dim);
}

Tensor top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, Tensor* values) {
  Rows r;
  if (!wrapped(self, &dim) || k < 1 || k > self->sizes()[size_t(dim)] || !rows_of(self, dim, largest, &r)) return {};
  Dims shape(r.x->sizes().begin(), r.x->sizes().end());
  shape.back() = k;
  Tensor best = empty(shape, self->dtype(), self->device()), places = empty(shape, DType::i64, self->device());
  if (k <= kMostSelected && r.n > 256) {
    if (!select(r, k, best, places)) return {};
  } else if (r.n <= r.most()) {
    if (!chunks(r, {}, r.n, {}, best, places, k)) return {};
  } else {
    Tensor all = empty(r.x->sizes(), self->dtype(), self->device()), spots = empty(r.x->sizes(), DType::i64, self->device());
    if (!sort_long(r, all, spots)) return {};
    best = contiguous(slice(*all, -1, 0, k, 1));
    places = contiguous(slice(*spots, -1, 0, k, 1));
  }
  *values = back(best, dim);
  return back(places, dim);
}

}  // namespace shim::cuda
