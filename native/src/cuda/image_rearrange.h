#pragma once
// im2col, col2im, pixel_shuffle, reflection and replication padding, and affine_grid on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> im2col(
    const Tensor& self, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);
Outcome<Tensor> col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel, IntArrayRef dilation,
    IntArrayRef padding, IntArrayRef stride);

// (*, c * r * r, h, w) to (*, c, h * r, w * r), and back where not `up`.
Outcome<Tensor> shuffle_pixels(const Tensor& x, int64_t r, bool up);

// Padding of the last one to three dimensions by reflection, or by repeating the border: pairs (before, after), the last dimension first, which
// may be negative. And its gradient, of the input's sizes.
Outcome<Tensor> reflect_replicate_pad(const Tensor& x, IntArrayRef pairs, bool reflect);
Outcome<Tensor> reflect_replicate_pad_backward(const Tensor& g, IntArrayRef sizes, IntArrayRef pairs, bool reflect);

// Sampling grids of affine maps (n, dims, dims + 1) for images of the sizes (n, c, ...).
Outcome<Tensor> affine_grid(const Tensor& theta, IntArrayRef sizes, bool align_corners);
// The gradient of the grids by the maps.
Outcome<Tensor> affine_grid_backward(const Tensor& g, IntArrayRef sizes, bool align_corners);

}  // namespace shim::cuda
