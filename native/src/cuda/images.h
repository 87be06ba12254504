#pragma once
// Pools over windows of planes, images at other sizes and at the places of a grid, on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// The geometry of a window along one dim.
struct Side {
  int size = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, adaptive = 0;
};
struct Sides {
  Side of[3];
};  // depth, height, width

// Pools and other sizes: of contiguous (planes, depth, height, width) of real floats, with the sides' out sizes. A fifth dim, of channels,
// is kept, but by box_mean_backward().
// `indices` (may be null) gets the flat indices within the planes.
Outcome<Tensor> box_max(const Tensor& x, const Sides&, Tensor* indices);
// `divisor` 0: the number of elements in the window, padding counted where `include_pad`.
Outcome<Tensor> box_mean(const Tensor& x, const Sides&, bool include_pad, int64_t divisor);
Outcome<Tensor> box_mean_backward(const Tensor& g, const Sides&, bool include_pad, int64_t divisor);

enum class Stretching : int { nearest = 0, nearest_exact = 1, linear = 2, cubic = 3 };
struct Stretch {
  int size = 1, out = 1, aligned = 0;
  double scale = 1;
};  // `scale`: places of the source for one of the result
Outcome<Tensor> resize(Stretching, const Tensor& x, const Stretch (&sides)[3]);
// The gradient of resize() to the nearest by contiguous planes; g is of the sides' out sizes.
Outcome<Tensor> nearest_backward(bool exact, const Tensor& g, const Stretch (&sides)[3]);

// Along a dim, element i is the sum over k of weights[i, k] self[indices[i, k]]; an index below 0 ends its row. Indices
// are int64, weights of self's dtype.
Outcome<Tensor> resample_dim(const Tensor& self, int64_t dim, const Tensor& indices, const Tensor& weights);
// x (batch, channels, height, width), grid (batch, rows, cols, 2). `mode`: 0 bilinear, 1 nearest; `padding`: 0 zeros,
// 1 the border, 2 reflections.
Outcome<Tensor> sample_grid(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners);
// By the grid, or by x; g is of the result's sizes.
Outcome<Tensor> sample_grid_backward(const Tensor& g, const Tensor& x, const Tensor& grid, int64_t mode,
    int64_t padding, bool align_corners, bool of_grid);

}  // namespace shim::cuda
