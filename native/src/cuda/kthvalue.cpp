#include "cuda/kthvalue.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/sort.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr NotMine kNoOrderKernel{"a kernel that could not be compiled"};
constexpr int64_t kMostOfOneBlock = 1 << 21;  // longer rows are sorted faster than one block reads them

const Family kthvalue_family{"kthvalue"};

CUfunction kthvalue_kernel(const char* entry, DType t, int device) {
  return find_kernel(kthvalue_family, entry, key_of(int(t)), device,
      [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(t)}; });
}

// With `dim` last, and the sizes of what is left of it.
Tensor with_last(const Tensor& self, int64_t dim, bool keepdim, Dims* shape) {
  Dims order;
  for (int d = 0; d < self->dim(); ++d) {
    if (d != dim) order.push_back(d);
    if (d != dim || keepdim) shape->push_back(d == dim ? 1 : self->sizes()[size_t(d)]);
  }
  order.push_back(dim);
  return contiguous(permute(*self, order));
}

enum class OrderStatistic : int { kth = 0, median = 1, nanmedian = 2 };

// The dim, from 0 on.
Outcome<int64_t> usable_dim(const Tensor& self, int64_t dim) {
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (!has_kernel(self->dtype())) return NotMine{"a dtype without CUDA kernels"};
  if (self->dim() == 0 || !self->numel()) return NotMine{"no dims or no elements"};
  if (dim < -self->dim() || dim >= self->dim()) return NotMine{"a dim out of range"};
  if (dim < 0) dim += self->dim();
  if (self->numel() / self->sizes()[size_t(dim)] > kMostBlocks) return NotMine{"more rows than one launch takes"};
  return dim;
}

// `k` from 1, for kth.
Outcome<ValuesAndIndices> order_statistic(
    const Tensor& self, int64_t given, OrderStatistic kind, int64_t k, bool keepdim, bool with_indices = true) {
  const auto dim = usable_dim(self, given);
  if (!dim) return dim.why();
  int64_t n = self->sizes()[size_t(*dim)];
  if (kind != OrderStatistic::kth) k = (n - 1) / 2 + 1;
  const DType t = self->dtype();
  if (n > kMostOfOneBlock) return NotMine{"rows too long for one block"};
  if (k < 1 || k > n) return NotMine{"k out of range"};
  if (t == DType::b8) return NotMine{"bool tensors, which PyTorch refuses"};
  const int device = self->device().index;
  const CUfunction f = kthvalue_kernel("ranked", t, device);
  if (!f) return kNoOrderKernel;
  Dims shape;
  const Tensor x = with_last(self, *dim, keepdim, &shape), values = empty(shape, t, self->device()),
               indices = with_indices ? empty(shape, DType::i64, self->device()) : Tensor{};
  const void* from = x->data();
  void *to = values->data(), *at = indices ? indices->data() : nullptr;
  int which = int(kind);
  void* arguments[] = {&from, &n, &k, &which, &to, &at};
  launch(f, values->numel(), 1, threads_for(n / 2), 1, arguments, device);
  return ValuesAndIndices{values, indices};
}

}  // namespace

Outcome<ValuesAndIndices> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  return order_statistic(self, dim, OrderStatistic::kth, k, keepdim);
}
Outcome<Tensor> median(const Tensor& self) {
  const auto found = order_statistic(
      view(*contiguous(self), Dims{self->numel()}), 0, OrderStatistic::median, 0, false, /*with_indices=*/false);
  if (!found) return found.why();
  return std::get<0>(*found);
}
Outcome<ValuesAndIndices> median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return order_statistic(self, dim, OrderStatistic::median, 0, keepdim);
}
Outcome<ValuesAndIndices> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return order_statistic(self, dim, OrderStatistic::nanmedian, 0, keepdim);
}

Outcome<ValuesAndIndices> mode(const Tensor& self, int64_t given, bool keepdim) {
  const auto dim = usable_dim(self, given);
  if (!dim) return dim.why();
  if (self->sizes()[size_t(*dim)] > INT32_MAX) return NotMine{"rows of more than 2**31 elements"};
  const DType t = self->dtype();
  const int device = self->device().index;
  const CUfunction f = kthvalue_kernel("most_frequent", t, device);
  if (!f) return kNoOrderKernel;
  Dims shape;
  auto in_order = sort(with_last(self, *dim, keepdim, &shape), -1, false);
  if (!in_order) return in_order.why();
  const auto& [sorted, order] = *in_order;
  const Tensor values = empty(shape, t, self->device()), indices = empty(shape, DType::i64, self->device());
  int64_t n = self->sizes()[size_t(*dim)];
  const void *from = sorted->data(), *order_data = order->data();
  void *to = values->data(), *at = indices->data();
  void* arguments[] = {&from, &order_data, &n, &to, &at};
  launch(f, values->numel(), 1, threads_for(n / 2), 1, arguments, device);
  return ValuesAndIndices{values, indices};
}

}  // namespace shim::cuda
