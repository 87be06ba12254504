#include "cuda/multinomial.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/multinomial.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int64_t kMostWeights = 4096;      // whose sums a block keeps
constexpr int64_t kMostOfOneRow = 1 << 17;  // weights that a block goes through

const Family multinomial_family{"multinomial"};

template <class E> Kernel<E> multinomial_kernel(DType t, int device) {
  return find_kernel<E>(multinomial_family, key_of(int(t)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), t == DType::f64 ? "WIDE=1" : "WIDE=0"};
  });
}

const NotMine* refused(const Tensor& weights) {
  if (!kernels_ready()) return &kNoCompiler;
  if (!floating(weights->dtype())) return &kOtherDtype;
  if (weights->dim() != 2) return &kOtherSizes;
  if (!weights->numel()) return &kNoElements;
  return weights->sizes()[0] > kMostBlocks ? &kTooMany : nullptr;
}

Tensor no_faults(const Tensor& weights) {
  const Tensor faults = empty({}, DType::i32, weights->device());
  fill_(faults, Scalar{});
  return faults;
}

}  // namespace

Outcome<Tensor> multinomial_faults(const Tensor& given) {
  if (const NotMine* why = refused(given)) return *why;
  const int device = given->device().index;
  const auto f = multinomial_kernel<entries::multinomial::check>(given->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor weights = contiguous(given), faults = no_faults(weights);
  launch(f, {weights->sizes()[0]}, device, weights->data(), faults->data(), weights->sizes()[1]);
  return faults;
}

Outcome<std::tuple<Tensor, Tensor>> multinomial_one(const Tensor& given, int64_t seed, int64_t start) {
  if (const NotMine* why = refused(given)) return *why;
  const int64_t rows = given->sizes()[0], n = given->sizes()[1];
  if (n > kMostOfOneRow) return kTooMany;
  const int device = given->device().index;
  const auto f = multinomial_kernel<entries::multinomial::draw_one>(given->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor weights = contiguous(given), faults = no_faults(weights);
  const Tensor out = empty(Dims{rows, 1}, DType::i64, weights->device());
  int threads = 32;
  while (threads < 1024 && threads * 4 < n) threads *= 2;
  launch(
      f, {rows, 1, threads}, device, weights->data(), out->data(), faults->data(), n, uint64_t(seed), uint64_t(start));
  return std::tuple{out, faults};
}

Outcome<Tensor> multinomial_many(const Tensor& given, int64_t draws, int64_t seed, int64_t start) {
  if (const NotMine* why = refused(given)) return *why;
  const int64_t rows = given->sizes()[0], n = given->sizes()[1];
  if (n > kMostWeights) return kTooMany;
  const int device = given->device().index;
  const auto f = multinomial_kernel<entries::multinomial::draw_many>(given->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor weights = contiguous(given), out = empty(Dims{rows, draws}, DType::i64, weights->device());
  // A block sums up all weights again: it is to draw many, unless few blocks would be busy.
  const int64_t parts = std::clamp<int64_t>(std::min(draws / 1024, kFullBlocks / rows), 1, kMostRows);
  launch(f, {rows, parts}, device, weights->data(), out->data(), n, draws, (draws + parts - 1) / parts, uint64_t(seed),
      uint64_t(start));
  return out;
}

}  // namespace shim::cuda
