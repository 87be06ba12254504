#include "cuda/kthvalue.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/sort.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

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

bool usable(const Tensor& self, int64_t* dim) {
  if (!kernels_ready() || !has_kernel(self->dtype()) || self->dim() == 0 || *dim < -self->dim() || *dim >= self->dim())
    return false;
  if (*dim < 0) *dim += self->dim();
  const int64_t n = self->sizes()[size_t(*dim)];
  return n > 0 && self->numel() && self->numel() / n <= kMostBlocks;
}

}  // namespace

Tensor order_statistic(const Tensor& self, int64_t dim, OrderStatistic kind, int64_t k, bool keepdim, Tensor* indices) {
  if (!usable(self, &dim)) return {};
  int64_t n = self->sizes()[size_t(dim)];
  if (kind != OrderStatistic::kth) k = (n - 1) / 2 + 1;
  const DType t = self->dtype();
  if (n > kMostOfOneBlock || k < 1 || k > n || t == DType::b8) return {};
  const int device = self->device().index;
  const CUfunction f = kthvalue_kernel("ranked", t, device);
  if (!f) return {};
  Dims shape;
  const Tensor x = with_last(self, dim, keepdim, &shape), values = empty(shape, t, self->device());
  if (indices) *indices = empty(shape, DType::i64, self->device());
  const void* from = x->data();
  void *to = values->data(), *at = indices ? (*indices)->data() : nullptr;
  int which = int(kind);
  void* arguments[] = {&from, &n, &k, &which, &to, &at};
  launch(f, values->numel(), 1, threads_for(n / 2), 1, arguments, device);
  return values;
}

Tensor mode(const Tensor& self, int64_t dim, bool keepdim, Tensor* indices) {
  if (!usable(self, &dim) || self->sizes()[size_t(dim)] > INT32_MAX) return {};
  const DType t = self->dtype();
  const int device = self->device().index;
  const CUfunction f = kthvalue_kernel("most_frequent", t, device);
  if (!f) return {};
  Dims shape;
  auto in_order = sort(with_last(self, dim, keepdim, &shape), -1, false);
  if (!in_order) return {};
  const auto& [sorted, order] = *in_order;
  const Tensor values = empty(shape, t, self->device());
  *indices = empty(shape, DType::i64, self->device());
  int64_t n = self->sizes()[size_t(dim)];
  const void *from = sorted->data(), *order_data = order->data();
  void *to = values->data(), *at = (*indices)->data();
  void* arguments[] = {&from, &order_data, &n, &to, &at};
  launch(f, values->numel(), 1, threads_for(n / 2), 1, arguments, device);
  return values;
}

}  // namespace shim::cuda
