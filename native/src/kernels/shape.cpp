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
  register_kernel<&empty_like>("empty_like");
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

void register_views() {
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
