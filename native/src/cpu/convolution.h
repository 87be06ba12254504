#pragma once
// Convolutions of images and volumes in float32 and float64: directly (direct_convolution.h) where that is worth it, else by products of
// matrices of windows; in one channel a group, line by line.
#include "core/tensor.h"

namespace shim {

struct Window {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
};  // of height and width
struct Box : Window {
  int64_t depth_kernel = 1, depth_stride = 1, depth_padding = 0, depth_dilation = 1;
};

// Contiguous operands of one dtype. x (batch, channels, depth, height, width), w (out channels, channels / groups, kernel); bias may be
// null. `out_sizes`: the depth, height and width of the result.
Tensor convolve(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box&, int64_t groups, const int64_t (&out_sizes)[3]);
// The transposed one: w (channels, out channels / groups, kernel).
Tensor convolve_transposed(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box&, int64_t groups, const int64_t (&out_sizes)[3]);
// The gradient of w in `convolve`: (channels of g, channels of x / groups, kernel).
Tensor convolution_weight(const Tensor& x, const Tensor& g, const Box&, int64_t groups);

// Windows of `planes` as columns, (batch, channels, height, width) to (batch, channels * kernel, out_sizes), and their sums back.
Tensor to_window_columns(const Tensor& x, const Window&, int64_t height, int64_t width);
Tensor from_window_columns(const Tensor& columns, const Window&, int64_t channels, int64_t image_height,
    int64_t image_width, int64_t height, int64_t width);

}  // namespace shim
