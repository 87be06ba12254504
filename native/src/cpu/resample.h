#pragma once
// Images at other sizes and at the places of a grid: contiguous (batch, channels, height, width).
#include "core/tensor.h"

namespace shim {

// What one place of the result is of the source; 0: the sizes' own.
struct Scales {
  double height = 0, width = 0;
};
Tensor resize_nearest(const Tensor& self, int64_t height, int64_t width, Scales);
Tensor resize_linear(
    const Tensor& self, int64_t height, int64_t width, bool align_corners, Scales);  // float32 or float64
// `padding`: 0 zeros, 1 the border, 2 reflections. Of float32 or float64; `grid` (batch, height, width, 2) of the same dtype.
Tensor sample_grid(const Tensor& self, const Tensor& grid, bool nearest, int padding, bool align_corners);

}  // namespace shim
