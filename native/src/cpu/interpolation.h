#pragma once
// Interpolation: weighted sums of a few elements along one dim, and grid_sample of images and volumes, with their gradients.
#include "core/tensor.h"

namespace shim {

// y[o, i, n] = sum over k of x[o, indices[i, k], n] * weights[i, k] along dim `dim`; an index below 0 ends its row. Contiguous, float32 or
// float64, weights of the same dtype; indices int64 (count, taps).
Tensor weighted(const Tensor& x, int dim, const Tensor& indices, const Tensor& weights);
// Its transpose: x[o, indices[i, k], n] += g[o, i, n] * weights[i, k], x of `size` along the dim.
Tensor spread(const Tensor& g, int dim, int64_t size, const Tensor& indices, const Tensor& weights);

struct GridSettings {
  bool nearest;
  int padding;
  bool align_corners;
};  // padding: 0 zeros, 1 the border, 2 reflections
// Of contiguous float32 or float64 (batch, channels, spatial...) at (batch, spatial..., dims), two dims or three.
Tensor sample_at(const Tensor& x, const Tensor& grid, GridSettings);
// The gradients by x and by the grid; one that is not wanted is null.
struct GridGradients {
  Tensor input, grid;
};
GridGradients sample_at_backward(
    const Tensor& g, const Tensor& x, const Tensor& grid, GridSettings, bool want_input, bool want_grid);

}  // namespace shim
