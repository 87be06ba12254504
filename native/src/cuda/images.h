#pragma once
// Pools over windows of planes, images at other sizes and at the places of a grid, on CUDA. Each gives null where there is
// no kernel. Tensors are contiguous, of real floats.
#include "core/tensor.h"

namespace shim::cuda {

// The geometry of a window along one dim.
struct Side {
  int size = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, adaptive = 0;
};
struct Sides {
  Side of[3];
};  // depth, height, width

// Of (planes, depth, height, width), with the sides' out sizes. `indices` (may be null) gets the flat indices within the planes.
Tensor box_max(const Tensor& x, const Sides&, Tensor* indices);
// `divisor` 0: the number of elements in the window, padding counted where `include_pad`.
Tensor box_mean(const Tensor& x, const Sides&, bool include_pad, int64_t divisor);
Tensor box_mean_backward(const Tensor& g, const Sides&, bool include_pad, int64_t divisor);

enum class Stretching : int { nearest = 0, nearest_exact = 1, linear = 2, cubic = 3 };
struct Stretch {
  int size = 1, out = 1, aligned = 0;
  double scale = 1;
};  // `scale`: places of the source for one of the result
Tensor resize(Stretching, const Tensor& x, const Stretch (&sides)[3]);
// Along a dim, element i is the sum over k of weights[i, k] x[indices[i, k]]; an index below 0 ends its row. Indices are int64, weights of x's dtype.
Tensor weigh_lines(const Tensor& x, int64_t dim, const Tensor& indices, const Tensor& weights);
// x (batch, channels, height, width), grid (batch, rows, cols, 2). `padding`: 0 zeros, 1 the border, 2 reflections.
Tensor sample_grid(const Tensor& x, const Tensor& grid, bool nearest, int padding, bool align_corners);
// By the grid, or by x; g is of the result's sizes.
Tensor sample_grid_backward(
    const Tensor& g, const Tensor& x, const Tensor& grid, bool nearest, int padding, bool align_corners, bool of_grid);

}  // namespace shim::cuda
