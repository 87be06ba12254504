// Kernels of the operators that write at places that a tensor names.
#include "cpu/scatter_kernels.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

// Each operator and its in-place form.
template <Scatter how, bool in_place>
Outcome<Tensor> scatter_of(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scattered(self, dim, index, src, how, in_place);
}
template <bool in_place>
Outcome<Tensor> scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
    std::string_view reduce, bool include_self) {
  return reduced_by_scatter(self, dim, index, src, reduce, include_self, in_place);
}
template <bool in_place>
Outcome<Tensor> scatter_value(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) {
  return scattered_value(self, dim, index, value, in_place);
}
template <bool in_place>
Outcome<Tensor> index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) {
  return index_added(self, dim, index, source, alpha, in_place);
}
template <bool in_place>
Outcome<Tensor> index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return index_copied(self, dim, index, source, in_place);
}
template <bool in_place>
Outcome<Tensor> index_fill(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) {
  return index_filled(self, dim, index, value, in_place);
}
template <bool in_place>
Outcome<Tensor> index_put(const Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate) {
  return index_put_at(self, indices, values, accumulate, in_place);
}

}  // namespace

void register_scatter_kernels() {
  register_kernel<&embedding_bags, kCpu>("embedding_bags");
  register_kernel<&take, kCpu>("take");
  register_kernel<&scatter_reduce<false>, kCpu>("scatter_reduce");
  register_kernel<&scatter_reduce<true>, kCpu>("scatter_reduce_");
  register_kernel<&scatter_of<Scatter::add, false>, kCpu>("scatter_add");
  register_kernel<&scatter_of<Scatter::add, true>, kCpu>("scatter_add_");
  register_kernel<&scatter_of<Scatter::put, false>, kCpu>("scatter_src");
  register_kernel<&scatter_of<Scatter::put, true>, kCpu>("scatter_src_");
  register_kernel<&scatter_value<false>, kCpu>("scatter_value");
  register_kernel<&scatter_value<true>, kCpu>("scatter_value_");
  register_kernel<&index_add<false>, kCpu>("index_add");
  register_kernel<&index_add<true>, kCpu>("index_add_");
  register_kernel<&index_copy<false>, kCpu>("index_copy");
  register_kernel<&index_copy<true>, kCpu>("index_copy_");
  register_kernel<&index_fill<false>, kCpu>("index_fill");
  register_kernel<&index_fill<true>, kCpu>("index_fill_");
  register_kernel<&index_put<false>, kCpu>("index_put_at");
  register_kernel<&index_put<true>, kCpu>("index_put_at_");
}

}  // namespace shim
