// Kernels of the operators in records/shape.
#include "autograd/view_composites.h"
#include "cpu/copy_operators.h"
#include "cpu/creation.h"
#include "cpu/indexing.h"
#include "cuda/gather.h"
#include "cuda/rows.h"
#include "kernels/call.h"
#include "kernels/option_parameters.h"
#include "kernels/registry.h"

namespace shim {
namespace {

using Dt = std::optional<DType>;
using Dev = std::optional<Device>;
using Flag = std::optional<bool>;
using Int = std::optional<int64_t>;
constexpr IntOrFloat kZero{}, kOne{false, 1};

void register_ranges() {
  register_kernel<
      [](IntOrFloat end, Dt t, Ignored l, Dev d, Flag pin) { return arange(kZero, end, kOne, t, l, d, pin); }, kCpu>(
      "arange");
  register_kernel<[](IntOrFloat start, IntOrFloat end, Dt t, Ignored l, Dev d, Flag pin) {
    return arange(start, end, kOne, t, l, d, pin);
  },
      kCpu>("arange");
  register_kernel<&arange, kCpu>("arange");
  register_kernel<[](IntOrFloat end, Dt t, Ignored l, Dev d, Flag pin) {
    return cuda::arange(kZero, end, kOne, t, l, d, pin);
  },
      kCuda>("arange");
  register_kernel<[](IntOrFloat start, IntOrFloat end, Dt t, Ignored l, Dev d, Flag pin) {
    return cuda::arange(start, end, kOne, t, l, d, pin);
  },
      kCuda>("arange");
  register_kernel<&cuda::arange, kCuda>("arange");
  register_kernel<&linspace, kCpu>("linspace");
}

void register_copies() {
  register_kernel<&empty_operator>("empty");
  register_kernel<&empty_like>("empty_like");
  register_kernel<&zeros>("zeros");
  register_kernel<&ones>("ones");
  register_kernel<&zeros_like>("zeros_like");
  register_kernel<&ones_like>("ones_like");
  register_kernel<&to_copy>("_to_copy");
  register_kernel<&copy_operator_>("copy_");
  register_kernel<&fill_operator_>("fill_");
  register_kernel<&zero_operator_>("zero_");
  register_kernel<&clone_operator>("clone");
  register_kernel<&to_device>("to");
  register_kernel<&to_dtype_operator>("to");
  register_kernel<&to_other>("to");
  register_kernel<&contiguous_operator>("contiguous");
}

Outcome<Tensor> transposed_matrix(const Tensor& self) {
  if (self->dim() > 2) return NotMine{"more dims than a matrix has"};
  return self->dim() < 2 ? alias(*self) : transpose(*self, 0, 1);
}

// Views of one tensor, which whoever calls them ties to it.
void register_single_views() {
  register_kernel<[](const Tensor& self, IntArrayRef size) { return view(*self, size); }>("view");
  register_kernel<[](const Tensor& self) { return alias(*self); }>("alias");
  register_kernel<[](const Tensor& self, IntArrayRef size, Ignored) { return expand(*self, size); }>("expand");
  register_kernel<[](const Tensor& self) { return squeeze(*self); }>("squeeze");
  register_kernel<[](const Tensor& self, int64_t dim) { return squeeze(*self, IntArrayRef(&dim, 1)); }>("squeeze");
  register_kernel<[](const Tensor& self, IntArrayRef dims) { return squeeze(*self, dims); }>("squeeze");
  register_kernel<[](const Tensor& self, int64_t dim) { return unsqueeze(*self, dim); }>("unsqueeze");
  register_kernel<[](const Tensor& self, int64_t a, int64_t b) { return transpose(*self, a, b); }>("transpose");
  register_kernel<&transposed_matrix>("t");
  register_kernel<[](const Tensor& self, IntArrayRef dims) { return permute(*self, dims); }>("permute");
  register_kernel<[](const Tensor& self, int64_t dim, int64_t index) { return select(*self, dim, index); }>("select");
  register_kernel<[](const Tensor& self, int64_t dim, Int start, Int end, int64_t step) {
    return slice(*self, dim, start.value_or(0), end.value_or(INT64_MAX), step);
  }>("slice");
  register_kernel<[](const Tensor& self, IntArrayRef size, IntArrayRef stride, Int offset) {
    return as_strided(*self, size, stride, offset.value_or(self->storage_offset()));
  }>("as_strided");
  register_kernel<[](const Tensor& self, int64_t offset, int64_t a, int64_t b) {
    return diagonal(*self, offset, a, b);
  }>("diagonal");
  register_kernel<[](const Tensor& self, int64_t dim, int64_t size, int64_t step) {
    return unfold(*self, dim, size, step);
  }>("unfold");
  register_kernel<[](const Tensor& self) { return view_as_real(*self); }>("view_as_real");
  register_kernel<[](const Tensor& self) { return view_as_complex(*self); }>("view_as_complex");
}

void register_views() {
  register_single_views();
  register_kernel<&split, kAnyWithoutHistory>("split");
  register_kernel<&split_with_sizes, kAnyWithoutHistory>("split_sizes");
  register_kernel<&chunk, kAnyWithoutHistory>("chunk");
  register_kernel<&unbind, kAnyWithoutHistory>("unbind");
  register_kernel<&narrow_view, kAnyWithoutHistory>("narrow");
  register_kernel<&reshape, kAnyWithoutHistory>("reshape");
  register_kernel<&flatten, kAnyWithoutHistory>("flatten");
  // A view that nobody is told of.
  register_kernel<[](const Tensor& self, IntArrayRef size) { return view(*self, infer_size(size, self->numel())); }>(
      "_unsafe_view");
}

}  // namespace

void register_shape_kernels() {
  register_ranges();
  register_copies();
  register_views();
  register_kernel<&cat, kCpu>("cat");
  register_kernel<&cuda::cat, kCuda>("cat");
  register_kernel<&stack, kCpuWithoutHistory>("stack");
  register_kernel<&cuda::stack, kCudaWithoutHistory>("stack");
}

}  // namespace shim
