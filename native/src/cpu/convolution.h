#pragma once
// Convolutions of images and volumes in float32 and float64: directly (direct_convolution.h) where that is worth it, else by products of
// matrices of windows; in one channel a group, line by line.
#include "ops/kernel.h"

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

// The operators, of lines, images and volumes in real floats; settings are one number or one a dim.
Outcome<Tensor> convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);
Outcome<Tensor> convolution_weight_gradient(const Tensor& input, const Tensor& grad_output, IntArrayRef kernel,
    IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups);

// Windows of float32 or float64 images as columns, ([batch,] channels, height, width) to ([batch,] channels * kernel, windows), and their
// sums back (window_columns.cpp).
Outcome<Tensor> im2col(
    const Tensor& self, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);
Outcome<Tensor> col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel, IntArrayRef dilation,
    IntArrayRef padding, IntArrayRef stride);

}  // namespace shim
