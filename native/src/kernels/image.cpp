// Kernels of the operators on images: pools, convolutions, norms over channels, and images at other sizes and places.
#include "cpu/convolution.h"
#include "cpu/interpolation_kernels.h"
#include "cpu/pooling.h"
#include "cpu/resample.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

constexpr NotMine kNoDivisor{"a divisor of 0, which PyTorch refuses"};

// max_pool1d and the like: the maxima alone.
template <auto with_indices>
Outcome<Tensor> max_pool(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    IntArrayRef dilation, bool ceil_mode) {
  auto found = with_indices(self, kernel, stride, padding, dilation, ceil_mode);
  if (!found) return found.why();
  return std::get<0>(*found);
}

Outcome<Tensor> avg_pool1d(
    const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool include_pad) {
  return mean_pool<1>(self, kernel, stride, padding, ceil_mode, include_pad, 0);
}
template <auto pool>
Outcome<Tensor> avg_pool(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool include_pad, std::optional<int64_t> divisor) {
  if (divisor == 0) return kNoDivisor;
  return pool(self, kernel, stride, padding, ceil_mode, include_pad, divisor.value_or(0));
}

using Size = std::optional<IntArrayRef>;
using Scale = std::optional<double>;
using BothScales = std::optional<std::span<const double>>;

// One scale a dim; false where there are others.
bool resize_of(Size size, BothScales scales, Resize* to) {
  to->size = size;
  if (!scales) return true;
  if (scales->size() != 2) return false;
  to->height = (*scales)[0], to->width = (*scales)[1];
  return true;
}

Outcome<Tensor> nearest2d(const Tensor& self, IntArrayRef size, Scale height, Scale width) {
  return resize_nearest(self, {size, height, width});
}
Outcome<Tensor> nearest2d_vec(const Tensor& self, Size size, BothScales scales) {
  Resize to;
  if (!resize_of(size, scales, &to)) return NotMine{"other than two scales"};
  return resize_nearest(self, to);
}
Outcome<Tensor> bilinear2d(const Tensor& self, IntArrayRef size, bool align_corners, Scale height, Scale width) {
  return resize_linear(self, {size, height, width}, align_corners);
}
Outcome<Tensor> bilinear2d_vec(const Tensor& self, Size size, bool align_corners, BothScales scales) {
  Resize to;
  if (!resize_of(size, scales, &to)) return NotMine{"other than two scales"};
  return resize_linear(self, to, align_corners);
}

void register_cpu_pools() {
  register_kernel<&max_pool_with_indices<2>, kCpu>("max_pool2d_with_indices");
  register_kernel<&max_pool3d_with_indices, kCpu>("max_pool3d_with_indices");
  register_kernel<&max_pool<&max_pool_with_indices<1>>, kCpuWithoutHistory>("max_pool1d");
  register_kernel<&max_pool<&max_pool_with_indices<2>>, kCpuWithoutHistory>("max_pool2d");
  register_kernel<&max_pool<&max_pool3d_with_indices>, kCpuWithoutHistory>("max_pool3d");
  register_kernel<&mean_pool<2>, kCpu>("mean_pool");
  register_kernel<&mean_pool_backward, kCpu>("mean_pool_backward");
  register_kernel<&avg_pool1d, kCpuWithoutHistory>("avg_pool1d");
  register_kernel<&avg_pool<&mean_pool<2>>, kCpuWithoutHistory>("avg_pool2d");
  register_kernel<&avg_pool<&mean_pool3d>, kCpuWithoutHistory>("avg_pool3d");
  register_kernel<&adaptive_max_pool<2>, kCpu>("adaptive_max_pool2d");
  register_kernel<&adaptive_max_pool<3>, kCpu>("adaptive_max_pool3d");
  register_kernel<&adaptive_avg_pool<1>, kCpuWithoutHistory>("adaptive_avg_pool1d");
  register_kernel<&adaptive_avg_pool<2>, kCpuWithoutHistory>("adaptive_avg_pool2d");
  register_kernel<&adaptive_avg_pool<3>, kCpuWithoutHistory>("adaptive_avg_pool3d");
}

}  // namespace

void register_image_kernels() {
  register_cpu_pools();
  register_kernel<&channel_norm, kCpu>("channel_norm");
  register_kernel<&channel_norm_backward, kCpu>("channel_norm_backward");
  register_kernel<&im2col, kCpu>("im2col");
  register_kernel<&col2im, kCpu>("col2im");
  register_kernel<&convolution, kCpu>("convolution");
  register_kernel<&convolution_weight_gradient, kCpu>("_convolution_weight");
  register_kernel<&resample_dim, kCpu>("weighted_taps");
  register_kernel<&resample_dim_backward, kCpu>("weighted_taps_backward");
  register_kernel<&sample_grid, kCpu>("sample_grid");
  register_kernel<&sample_grid_backward, kCpu>("sample_grid_backward");
  register_kernel<&grid_sampler, kCpuWithoutHistory>("grid_sampler");
  register_kernel<&nearest2d, kCpuWithoutHistory>("upsample_nearest2d");
  register_kernel<&nearest2d_vec, kCpuWithoutHistory>("upsample_nearest2d_vec");
  register_kernel<&bilinear2d, kCpuWithoutHistory>("upsample_bilinear2d");
  register_kernel<&bilinear2d_vec, kCpuWithoutHistory>("upsample_bilinear2d_vec");
}

}  // namespace shim
