#pragma once
// Images at other sizes and at the places of a grid: contiguous (batch, channels, height, width).
#include "ops/kernel.h"

namespace shim {

// At the size that is given, or at so many times the own one. What one place of the result is of the source follows from the scales where
// they are given.
struct Resize {
  std::optional<IntArrayRef> size;
  std::optional<double> height, width;  // how many times as large
};
Outcome<Tensor> resize_nearest(const Tensor& self, const Resize&);
Outcome<Tensor> resize_linear(const Tensor& self, const Resize&, bool align_corners);  // float32 or float64
// `padding`: 0 zeros, 1 the border, 2 reflections. Of float32 or float64; `grid` (batch, height, width, 2) of the same dtype. Null: others.
Tensor sample_images(const Tensor& self, const Tensor& grid, bool nearest, int padding, bool align_corners);

}  // namespace shim
