#include "cuda/random.h"

#include <algorithm>
#include <cmath>

#include "core/order.h"
#include "cuda/elementwise.h"
#include "cuda/entries/permutation.h"
#include "cuda/entries/random.h"
#include "cuda/entries/random_of_input.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int kRandomThreads = 256;

const Family random_family{"random"}, of_input_family{"random_of_input"}, permutation_family{"permutation"};

template <class E> Kernel<E> random_kernel(DType t, bool wide, int vector, int device, bool raised = false) {
  return find_kernel<E>(random_family, key_of(int(t), wide, vector, raised), device, [&] {
    std::vector<std::string> macros{
        std::string("ELEMENT=") + element_type(t), wide ? "WIDE=1" : "WIDE=0", "V=" + std::to_string(vector)};
    if (raised) macros.emplace_back("RAISED=1");
    return macros;
  });
}

template <class E, class... A> void run_random(Kernel<E> f, int64_t threads, int device, const A&... arguments) {
  launch(f, {(threads + kRandomThreads - 1) / kRandomThreads, 1, kRandomThreads}, device, arguments...);
}

}  // namespace

bool draw(
    const Tensor& self, Draw kind, double a, double b, int64_t low, uint64_t span, uint64_t seed, uint64_t start) {
  const DType t = self->dtype();
  if (!kernels_ready() || !self->is_contiguous() || !(floating(t) || (kind == Draw::integer && is_integral(t, true))))
    return false;
  const bool wide = t == DType::f64;
  const int device = self->device().index;
  void* out = self->data();
  const int64_t n = self->numel();
  const auto run = [&]<class E>(E, int64_t threads, const auto&... numbers) {
    const auto f = random_kernel<E>(t, wide, 4, device, kind == Draw::log_normal);
    if (f && n) run_random(f, threads, device, out, n, seed, start, numbers...);
    return bool(f);
  };
  using namespace entries::random;
  if (kind == Draw::uniform) return run(uniform{}, wide ? (n + 1) / 2 : (n + 3) / 4, b - a, a);
  if (kind == Draw::normal || kind == Draw::log_normal) return run(normal{}, ((n + 1) / 2 + 3) / 4, a, b);
  if (span && span < uint64_t(1) << 28)
    return run(short_integer{}, (n + 3) / 4, uint32_t(span), ~uint32_t(0) / uint32_t(span), low);
  return run(integer{}, (n + 1) / 2, span, span ? ~uint64_t(0) / span : 0, low);
}

bool draw_shaped(const Tensor& self, Shaped shape, double a, double b, uint64_t seed, uint64_t start) {
  const DType t = self->dtype();
  if (!kernels_ready() || !self->is_contiguous() || !has_kernel(t) || is_complex(t)) return false;
  const bool wide = shape != Shaped::chance && (t == DType::f64 || t == DType::i64);
  const int device = self->device().index;
  const auto f = find_kernel<entries::random::shaped>(random_family, key_of(int(t), wide, int(shape)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), wide ? "WIDE=1" : "WIDE=0", "V=4",
        "DRAW=" + std::to_string(int(shape))};
  });
  if (!f) return false;
  int64_t n = self->numel();
  if (n == 0) return true;
  run_random(f, wide ? (n + 1) / 2 : (n + 3) / 4, device, self->data(), n, seed, start, a, b);
  return true;
}

bool draw(const Tensor& self, std::string_view kind, const DrawBounds& bounds, uint64_t seed, uint64_t start) {
  CHECK(Kind::Type, self->device().is_cuda(), "cuda_draw(tensor, kind, a, b, seed, start) takes CUDA tensors");
  static constexpr std::pair<std::string_view, Shaped> others[] = {{"exponential", Shaped::exponential},
      {"cauchy", Shaped::cauchy}, {"geometric", Shaped::geometric}, {"chance", Shaped::chance}};
  const auto* shaped = std::ranges::find(others, kind, &std::pair<std::string_view, Shaped>::first);
  const Draw plain = kind == "integer"      ? Draw::integer
                     : kind == "normal"     ? Draw::normal
                     : kind == "log_normal" ? Draw::log_normal
                                            : Draw::uniform;
  const bool done = shaped != std::end(others) ? draw_shaped(self, shaped->second, bounds.a, bounds.b, seed, start)
                                               : draw(self, plain, bounds.a, bounds.b, int64_t(bounds.low),
                                                     bounds.high - bounds.low, seed, start);
  if (done) self->bump_version();
  return done;
}

Tensor draw_poisson(const Tensor& given, uint64_t seed, uint64_t start) {
  CHECK(Kind::Type, given->device().is_cuda() && !given->has_math_bits(),
      "cuda_poisson(rates, seed, start) takes a CUDA tensor whose bits are resolved");
  const DType t = given->dtype();
  if (!kernels_ready() || !floating(t)) return {};
  const int device = given->device().index;
  const auto f = find_kernel<entries::random::poisson>(random_family, key_of(int(t)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "WIDE=0", "V=4", "POISSON=1"};
  });
  if (!f) return {};
  const Tensor rates = contiguous(given), out = empty(given->sizes(), t, given->device());
  int64_t n = out->numel();
  if (!n) return out;
  run_random(f, n, device, rates->data(), out->data(), n, seed, start);
  return out;
}

namespace {

// Kernels of one number of the stream for each element of a tensor.
template <class E> Kernel<E> kernel_of_input(DType t, bool wide, int device) {
  return find_kernel<E>(of_input_family, key_of(int(t), wide), device,
      [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), wide ? "WIDE=1" : "WIDE=0"}; });
}

}  // namespace

Outcome<Tensor> permutation(const Tensor& like, int64_t seed, int64_t start) {
  constexpr int64_t kMostKeys = 4096;
  const int64_t n = like->numel();
  if (!kernels_ready()) return kNoCompiler;
  if (n > kMostKeys) return kTooMany;
  const int device = like->device().index;
  const auto f = find_kernel<entries::permutation::permutation>(
      permutation_family, 0, device, [&] { return std::vector<std::string>{}; });
  if (!f) return kNotCompiled;
  const Tensor out = empty(Dims{n}, DType::i64, like->device());
  if (n) launch(f, {(n + 127) / 128, 1, 128}, device, out->data(), int(n), uint64_t(seed), uint64_t(start));
  return out;
}

Outcome<Tensor> bernoulli(const Tensor& given, int64_t seed, int64_t start) {
  const DType t = given->dtype();
  const bool wide = t == DType::f64;
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(t)) return kOtherDtype;
  const int device = given->device().index;
  const auto f = kernel_of_input<entries::random_of_input::bernoulli>(t, wide, device);
  if (!f) return kNotCompiled;
  const Tensor chances = contiguous(given), out = empty(given->sizes(), t, given->device());
  const int64_t n = out->numel();
  if (n)
    run_random(
        f, wide ? (n + 1) / 2 : (n + 3) / 4, device, chances->data(), out->data(), n, uint64_t(seed), uint64_t(start));
  return out;
}

Outcome<std::tuple<Tensor, Tensor>> rrelu(
    const Tensor& given, double lower, double upper, int64_t seed, int64_t start) {
  const DType t = given->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(t)) return kOtherDtype;
  const int device = given->device().index;
  const auto f = kernel_of_input<entries::random_of_input::rrelu>(t, t == DType::f64, device);
  if (!f) return kNotCompiled;
  const Tensor self = contiguous(given), out = empty(given->sizes(), t, given->device()),
               slopes = empty(given->sizes(), t, given->device());
  const int64_t n = out->numel();
  if (n)
    run_random(f, (n + 3) / 4, device, self->data(), out->data(), slopes->data(), n, uint64_t(seed), uint64_t(start),
        upper - lower, lower);
  return std::tuple{out, slopes};
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
  const auto f = random_kernel<entries::random::dropout>(t, t == DType::f64, vector, device);
  if (!f) return {};
  uint32_t least = uint32_t(std::ceil(double(float(p)) * 16777216.0));
  double scale = 1 / (1 - p);
  run_random(
      f, (n + vector - 1) / vector, device, in->data(), out->data(), (*mask)->data(), n, seed, start, least, scale);
  return out;
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> dropout(const Tensor& self, double p, int64_t seed, int64_t start) {
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(self->dtype())) return kOtherDtype;
  Dims order, back(size_t(self->dim()));  // the dims as they lie in memory: the results lie like the input
  for (int d = 0; d < self->dim(); ++d) order.push_back(d);
  const Dims strides = strides_in_order_of(*self);
  sort_few(order.data(), order.data() + order.size(),
      [&](int64_t a, int64_t b) { return strides[size_t(a)] > strides[size_t(b)]; });
  for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
  const Tensor lying = self->is_contiguous() ? self : permute(*self, order);
  Tensor mask, out = drop(lying, p, uint64_t(seed), uint64_t(start), &mask);
  if (!out) return kNotCompiled;
  if (lying.get() == self.get()) return std::tuple{out, mask};
  return std::tuple{permute(*out, back), permute(*mask, back)};
}

}  // namespace shim::cuda
