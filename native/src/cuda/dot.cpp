#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/dot.h"
#include "cuda/launch.h"
#include "ops/cuda_kernels.h"

namespace shim::cuda {
namespace {

const Family dot_family{"dot"};

template <class E> Kernel<E> dot_kernel(DType t, int vector, int device) {
  return find_kernel<E>(dot_family, key_of(int(t), vector), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(compute_dtype(t)), "V=" + std::to_string(vector)};
  });
}

}  // namespace

Tensor dot(const Tensor& a, const Tensor& b) {
  const DType t = a->dtype();
  if (!kernels_ready() || !floating(t)) return {};
  const int device = a->device().index;
  const int64_t n = a->numel();
  const int vector = std::min(vector_of(a->data(), a->itemsize()), vector_of(b->data(), b->itemsize()));
  const auto sums = dot_kernel<entries::dot::dot_parts>(t, vector, device);
  const auto total = dot_kernel<entries::dot::dot_total>(t, vector, device);
  if (!sums || !total) return {};
  const int64_t blocks = std::clamp<int64_t>(n / vector / (4 * 512), 1, kFullBlocks);
  const Tensor parts = empty(Dims{blocks}, compute_dtype(t), a->device()), out = empty({}, t, a->device());
  launch(sums, {blocks, 1, 512}, device, a->data(), b->data(), parts->data(), n);
  launch(total, {1, 1, threads_for(blocks)}, device, parts->data(), out->data(), int(blocks));
  return out;
}

}  // namespace shim::cuda
