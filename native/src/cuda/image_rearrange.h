#pragma once
// Images on CUDA whose elements go to other places. All give null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

struct Columns {
  int64_t kernel[2], stride[2], padding[2], dilation[2], size[2], many[2];
};  // height and width; many: windows
Tensor to_columns(const Tensor& images, const Columns&);     // (n, c, height, width) to (n, c * kernel, windows)
Tensor from_columns(const Tensor& columns, const Columns&);  // sums: the adjoint

// (*, c * r * r, h, w) to (*, c, h * r, w * r), and back where not `up`.
Tensor shuffle_pixels(const Tensor& x, int64_t r, bool up);

// The last one to three dimensions with frames that reflect or go on with the nearest element: pairs (before, after), the last dimension first, which
// may be negative. And the gradient, of the input's sizes.
Tensor reflect_replicate_pad(const Tensor& x, DimSpan pairs, bool reflect);
Tensor reflect_replicate_pad_backward(const Tensor& g, DimSpan sizes, DimSpan pairs, bool reflect);

// Places of affine maps, (n, dims, dims + 1), for images of the sizes (n, c, ...).
Tensor affine_grid(const Tensor& theta, DimSpan sizes, bool align_corners);

}  // namespace shim::cuda
