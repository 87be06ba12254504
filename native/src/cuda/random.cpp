#include "cuda/random.h"

#include <cmath>

#include "core/order.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int kRandomThreads = 256;

const Family random_family{"random"};

CUfunction random_kernel(const char* entry, DType t, bool wide, int vector, int device) {
  return find_kernel(random_family, entry, key_of(int(t), wide, vector), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), wide ? "WIDE=1" : "WIDE=0", "V=" + std::to_string(vector)};
  });
}

void run_random(CUfunction f, int64_t threads, void** arguments, int device) {
  launch(f, (threads + kRandomThreads - 1) / kRandomThreads, 1, kRandomThreads, 1, arguments, device);
}

}  // namespace

bool draw(
    const Tensor& self, Draw kind, double a, double b, int64_t low, uint64_t span, uint64_t seed, uint64_t start) {
  const DType t = self->dtype();
  if (!kernels_ready() || !self->is_contiguous() || !(kind == Draw::integer ? is_integral(t, true) : floating(t)))
    return false;
  const bool wide = t == DType::f64;
  const int device = self->device().index;
  const CUfunction f = random_kernel(kind == Draw::uniform  ? "uniform"
                                     : kind == Draw::normal ? "normal"
                                                            : "integer",
      t, wide, 4, device);
  if (!f) return false;
  void* out = self->data();
  int64_t n = self->numel();
  if (n == 0) return true;
  if (kind == Draw::uniform) {
    double width = b - a;
    void* arguments[] = {&out, &n, &seed, &start, &width, &a};
    run_random(f, wide ? (n + 1) / 2 : (n + 3) / 4, arguments, device);
  } else if (kind == Draw::normal) {
    void* arguments[] = {&out, &n, &seed, &start, &a, &b};
    run_random(f, ((n + 1) / 2 + 3) / 4, arguments, device);
  } else {
    if (span && span < uint64_t(1) << 28) {
      const CUfunction shorter = random_kernel("short_integer", t, wide, 4, device);
      if (!shorter) return false;
      uint32_t range = uint32_t(span), inverse = ~uint32_t(0) / range;
      void* arguments[] = {&out, &n, &seed, &start, &range, &inverse, &low};
      run_random(shorter, (n + 3) / 4, arguments, device);
      return true;
    }
    uint64_t inverse = span ? ~uint64_t(0) / span : 0;
    void* arguments[] = {&out, &n, &seed, &start, &span, &inverse, &low};
    run_random(f, (n + 1) / 2, arguments, device);
  }
  return true;
}

bool draw_shaped(const Tensor& self, Shaped shape, double a, double b, uint64_t seed, uint64_t start) {
  const DType t = self->dtype();
  if (!kernels_ready() || !self->is_contiguous() || !has_kernel(t) || is_complex(t)) return false;
  const bool wide = shape != Shaped::chance && (t == DType::f64 || t == DType::i64);
  const int device = self->device().index;
  const CUfunction f = find_kernel(random_family, "shaped", key_of(int(t), wide, int(shape)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), wide ? "WIDE=1" : "WIDE=0", "V=4",
        "DRAW=" + std::to_string(int(shape))};
  });
  if (!f) return false;
  void* out = self->data();
  int64_t n = self->numel();
  if (n == 0) return true;
  void* arguments[] = {&out, &n, &seed, &start, &a, &b};
  run_random(f, wide ? (n + 1) / 2 : (n + 3) / 4, arguments, device);
  return true;
}

Tensor draw_poisson(const Tensor& given, uint64_t seed, uint64_t start) {
  const DType t = given->dtype();
  if (!kernels_ready() || !floating(t)) return {};
  const int device = given->device().index;
  const CUfunction f = find_kernel(random_family, "poisson", key_of(int(t)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "WIDE=0", "V=4", "POISSON=1"};
  });
  if (!f) return {};
  const Tensor rates = contiguous(given), out = empty(given->sizes(), t, given->device());
  int64_t n = out->numel();
  if (!n) return out;
  const void* from = rates->data();
  void* to = out->data();
  void* arguments[] = {&from, &to, &n, &seed, &start};
  run_random(f, n, arguments, device);
  return out;
}

namespace {

// Null where the kernel could not be compiled.
Tensor drop(const Tensor& self, double p, uint64_t seed, uint64_t start, Tensor* mask) {
  const DType t = self->dtype();
  const int device = self->device().index;
  Tensor in = contiguous(self), out = empty(self->sizes(), t, self->device());
  *mask = empty(self->sizes(), DType::b8, self->device());
  int64_t n = self->numel();
  if (n == 0) return out;
  const bool aligned = vector_of(in->data(), 1) == 16;
  const int vector = self->itemsize() == 2 ? 8 : 4;
  if (!aligned) in = clone(in);
  const CUfunction f = random_kernel("dropout", t, t == DType::f64, vector, device);
  if (!f) return {};
  const void* from = in->data();
  void *to = out->data(), *kept = (*mask)->data();
  uint32_t least = uint32_t(std::ceil(double(float(p)) * 16777216.0));
  double scale = 1 / (1 - p);
  void* arguments[] = {&from, &to, &kept, &n, &seed, &start, &least, &scale};
  run_random(f, (n + vector - 1) / vector, arguments, device);
  return out;
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> dropout(const Tensor& self, double p, int64_t seed, int64_t start) {
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(self->dtype())) return kOtherDtype;
  Dims order, back(size_t(self->dim()));  // the dims as they lie in memory: the results lie like the input
  for (int d = 0; d < self->dim(); ++d) order.push_back(d);
  sort_few(order.data(), order.data() + order.size(),
      [&](int64_t a, int64_t b) { return self->strides()[size_t(a)] > self->strides()[size_t(b)]; });
  for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
  const Tensor lying = self->is_contiguous() ? self : permute(*self, order);
  const bool dense = lying->is_contiguous();
  Tensor mask, out = drop(dense ? lying : self, p, uint64_t(seed), uint64_t(start), &mask);
  if (!out) return kNotCompiled;
  if (!dense || lying.get() == self.get()) return std::tuple{out, mask};
  return std::tuple{permute(*out, back), permute(*mask, back)};
}

}  // namespace shim::cuda
