#include "cuda/pointwise_loss.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int kPairThreads = 512;

const Family pointwise_loss_family{"pointwise_loss"};

constexpr std::string_view kPointwiseLosses[] = {
    "mse", "l1", "smooth_l1", "huber", "bce", "bce_with_logits"};  // as LOSS numbers them

struct Pair {
  Tensor a, b;
  DType t, compute;
  int loss = 0, vector = 1, device = 0;
  alignas(8) char setting[16] = {};
  CUfunction kernel(const char* entry) const {
    return find_kernel(pointwise_loss_family, entry, key_of(int(t), vector, loss), device, [&] {
      return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
          std::string("C=") + compute_type(compute), "V=" + std::to_string(vector), "LOSS=" + std::to_string(loss)};
    });
  }
};

Outcome<Pair> pair_of(const Tensor& a, const Tensor& b, std::string_view name, double setting) {
  const DType t = a->dtype();
  const auto loss = std::ranges::find(kPointwiseLosses, name);
  if (loss == std::end(kPointwiseLosses)) return NotMine{"a loss without a kernel"};
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (!floating(t)) return NotMine{"a dtype without a CUDA kernel"};
  if (b->dtype() != t) return NotMine{"tensors of several dtypes"};
  if (a->device() != b->device()) return NotMine{"tensors of several devices"};
  if (!std::ranges::equal(a->sizes(), b->sizes())) return NotMine{"mixed shapes"};
  if (!a->numel()) return NotMine{"no elements"};
  Pair p;
  p.a = contiguous(a);
  p.b = contiguous(b);
  p.t = t;
  p.compute = compute_dtype(t);
  p.loss = int(loss - kPointwiseLosses);
  p.vector = std::min(vector_of(p.a->data(), a->itemsize()), vector_of(p.b->data(), a->itemsize()));
  p.device = a->device().index;
  store_number(p.setting, p.compute, Scalar{Scalar::Float, 0, setting});
  return p;
}

}  // namespace

Outcome<Tensor> pointwise_loss(const Tensor& a, const Tensor& b, std::string_view name, bool mean, double setting) {
  Outcome<Pair> pair = pair_of(a, b, name, setting);
  if (!pair) return pair.why();
  Pair& p = *pair;
  int64_t n = a->numel(), blocks = std::clamp<int64_t>(n / (int64_t(kPairThreads) * p.vector * 4), 1, kFullBlocks);
  const CUfunction f = p.kernel("loss_sums"), last = p.kernel("loss_total");
  if (!f || !last) return NotMine{"a kernel that could not be compiled"};
  const Tensor out = empty({}, p.t, a->device()), parts = empty(Dims{blocks}, p.compute, a->device());
  double divisor = mean ? double(n) : 1;
  const void *x = p.a->data(), *y = p.b->data();
  void *sums = parts->data(), *to = out->data();
  void* arguments[] = {&x, &y, &sums, &to, &n, p.setting, &divisor};
  launch(f, blocks, 1, kPairThreads, 1, arguments, p.device);
  int count = int(blocks);
  void* ending[] = {&sums, &to, &count, &divisor};
  if (blocks > 1) launch(last, 1, 1, kPairThreads, 1, ending, p.device);
  return out;
}

Outcome<Tensor> pointwise_loss_backward(
    const Tensor& g, const Tensor& a, const Tensor& b, std::string_view name, bool mean, double setting) {
  if (g->numel() != 1 || g->dtype() != a->dtype() || g->device() != a->device())
    return NotMine{"a gradient that is not one number of the inputs' dtype and device"};
  Outcome<Pair> pair = pair_of(a, b, name, setting);
  if (!pair) return pair.why();
  Pair& p = *pair;
  const Tensor out = empty(a->sizes(), p.t, a->device());
  p.vector = std::min(p.vector, vector_of(out->data(), a->itemsize()));
  const CUfunction f = p.kernel("loss_slopes");
  int64_t n = a->numel(), loads = (n + p.vector - 1) / p.vector;
  if (!f) return NotMine{"a kernel that could not be compiled"};
  if ((loads + 255) / 256 > kMostBlocks) return NotMine{"more elements than a grid has blocks for"};
  double divisor = mean ? double(n) : 1;
  const void *x = p.a->data(), *y = p.b->data(), *grad = g->data();
  void* to = out->data();
  void* arguments[] = {&x, &y, &grad, &to, &n, p.setting, &divisor};
  launch(f, (loads + 255) / 256, 1, 256, 1, arguments, p.device);
  return out;
}

}  // namespace shim::cuda
