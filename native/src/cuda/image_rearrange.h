#pragma once
// im2col, col2im, pixel_shuffle, reflection and replication padding, and affine_grid on CUDA. All give null where there is no kernel for the
// case.
#include "core/tensor.h"

namespace shim::cuda {

struct Columns {
  int64_t kernel[2], stride[2], padding[2], dilation[2], size[2], many[2];
};  // height and width; many: how many windows
Tensor im2col(const Tensor& images, const Columns&);   // (n, c, height, width) to (n, c * kernel, windows)
Tensor col2im(const Tensor& columns, const Columns&);  // sums: the adjoint

// (*, c * r * r, h, w) to (*, c, h * r, w * r), and back where not `up`.
Tensor shuffle_pixels(const Tensor& x, int64_t r, bool up);

// Padding of the last one to three dimensions by reflection, or by repeating the border: pairs (before, after), the last dimension first, which
// may be negative. And its gradient, of the input's sizes.
Tensor reflect_replicate_pad(const Tensor& x, IntArrayRef pairs, bool reflect);
Tensor reflect_replicate_pad_backward(const Tensor& g, IntArrayRef sizes, IntArrayRef pairs, bool reflect);

// Sampling grids of affine maps (n, dims, dims + 1) for images of the sizes (n, c, ...).
Tensor affine_grid(const Tensor& theta, IntArrayRef sizes, bool align_corners);

}  // namespace shim::cuda
