#include "cuda/variance.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/variance.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family variance_family{"variance"};

}  // namespace

Tensor variance_down(const Tensor& given, IntArrayRef dims, bool keepdim, double correction, bool root, Tensor* mean) {
  const DType t = given->dtype();
  const int n = given->dim();
  if (!kernels_ready() || !floating(t) || !given->numel() || dims.empty()) return {};
  bool gone[kMaxDims] = {};
  for (int64_t d : dims) {
    if (d < -n || d >= n || gone[d < 0 ? d + n : d]) return {};
    gone[d < 0 ? d + n : d] = true;
  }
  const int first = int(std::find(gone, gone + n, true) - gone), last = first + int(dims.size());
  for (int d = first; d < last; ++d)
    if (!gone[d]) return {};  // not side by side
  Dims shape;
  int64_t outer = 1, rows = 1, cols = 1;
  for (int d = 0; d < n; ++d) {
    const int64_t size = given->sizes()[size_t(d)];
    (d < first ? outer : d < last ? rows : cols) *= size;
    if (!gone[d] || keepdim) shape.push_back(gone[d] ? 1 : size);
  }
  if (double(rows) <= correction) return {};
  const Tensor self = contiguous(given);
  const int device = self->device().index;
  const int v = std::min(vector_for(cols, {&self}), 4);
  const int64_t groups = (cols + 32 * v - 1) / (32 * v), blocks = groups * outer;
  if (blocks > kMostBlocks) return {};
  const int64_t wanted = std::clamp<int64_t>((132 * 8 + blocks - 1) / blocks, 1, std::max<int64_t>(1, rows / 64));
  int64_t each = (rows + wanted - 1) / wanted, parts = (rows + each - 1) / each, lines = outer * cols;
  const DType compute = cuda::compute_dtype(t);
  const auto kernel = [&]<class E>(E) {
    return find_kernel<E>(variance_family, key_of(int(t), v), device, [&] {
      return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
          std::string("C=") + compute_type(compute), "V=" + std::to_string(v)};
    });
  };
  const auto moments = kernel(entries::variance::column_moments{});
  const auto variances = kernel(entries::variance::column_variances{});
  if (!moments || !variances) return {};
  const Tensor partial = empty(Dims{parts, lines, 3}, compute, self->device()), out = empty(shape, t, self->device());
  if (mean) *mean = empty(shape, t, self->device());
  void *sums = partial->data(), *means = mean ? (*mean)->data() : nullptr;
  launch(moments, {blocks, parts, 32, 8}, device, self->data(), sums, rows, cols, groups, each, lines);
  launch(variances, {(lines + 255) / 256}, device, sums, out->data(), means, lines, int(parts), correction, root);
  return out;
}

}  // namespace shim::cuda
