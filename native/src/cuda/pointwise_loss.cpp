#include "cuda/pointwise_loss.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int kPairThreads = 512;

const Family pointwise_loss_family{"pointwise_loss"};

struct Pair {
  Tensor a, b;
  DType t, compute;
  int vector = 1, device = 0;
  alignas(8) char setting[16] = {};
  CUfunction kernel(const char* entry, PointwiseLoss loss) const {
    return find_kernel(pointwise_loss_family, entry, key_of(int(t), vector, int(loss)), device, [&] {
      return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
          std::string("C=") + compute_type(compute), "V=" + std::to_string(vector),
          "LOSS=" + std::to_string(int(loss))};
    });
  }
};

bool pair_of(const Tensor& a, const Tensor& b, double setting, Pair* p) {
  const DType t = a->dtype();
  if (!kernels_ready() || !floating(t) || b->dtype() != t || a->device() != b->device() ||
      !std::ranges::equal(a->sizes(), b->sizes()) || !a->numel())
    return false;
  p->a = contiguous(a);
  p->b = contiguous(b);
  p->t = t;
  p->compute = compute_dtype(t);
  p->vector = std::min(vector_of(p->a->data(), a->itemsize()), vector_of(p->b->data(), a->itemsize()));
  p->device = a->device().index;
  store_number(p->setting, p->compute, Scalar{Scalar::Float, 0, setting});
  return true;
}

}  // namespace

Tensor pointwise_loss(PointwiseLoss loss, const Tensor& a, const Tensor& b, bool mean, double setting) {
  Pair p;
  if (!pair_of(a, b, setting, &p)) return {};
  int64_t n = a->numel(), blocks = std::clamp<int64_t>(n / (int64_t(kPairThreads) * p.vector * 4), 1, kFullBlocks);
  const CUfunction f = p.kernel("loss_sums", loss), last = p.kernel("loss_total", loss);
  if (!f || !last) return {};
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

Tensor pointwise_loss_backward(
    PointwiseLoss loss, const Tensor& g, const Tensor& a, const Tensor& b, bool mean, double setting) {
  Pair p;
  if (g->numel() != 1 || g->dtype() != a->dtype() || g->device() != a->device() || !pair_of(a, b, setting, &p))
    return {};
  const Tensor out = empty(a->sizes(), p.t, a->device());
  p.vector = std::min(p.vector, vector_of(out->data(), a->itemsize()));
  const CUfunction f = p.kernel("loss_slopes", loss);
  int64_t n = a->numel(), loads = (n + p.vector - 1) / p.vector;
  if (!f || (loads + 255) / 256 > kMostBlocks) return {};
  double divisor = mean ? double(n) : 1;
  const void *x = p.a->data(), *y = p.b->data(), *grad = g->data();
  void* to = out->data();
  void* arguments[] = {&x, &y, &grad, &to, &n, p.setting, &divisor};
  launch(f, (loads + 255) / 256, 1, 256, 1, arguments, p.device);
  return out;
}

}  // namespace shim::cuda
