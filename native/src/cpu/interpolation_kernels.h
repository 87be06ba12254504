#pragma once
// Kernels of the operators that interpolate, of CPU tensors of float32 or float64. `mode`: 0 bilinear, 1 nearest; `padding`: 0 zeros, 1 the
// border, 2 reflections.
#include "ops/kernel.h"

namespace shim {

// shim::resample_dim and its gradient: interpolation.h's weighted() and spread() along dim `dim`.
Outcome<Tensor> resample_dim(const Tensor& self, int64_t dim, const Tensor& indices, const Tensor& weights);
Outcome<Tensor> resample_dim_backward(
    const Tensor& grad_output, int64_t dim, int64_t size, const Tensor& indices, const Tensor& weights);
// Images or volumes (batch, channels, ...) at the places of a grid (batch, ..., dims).
Outcome<Tensor> sample_grid(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners);
Outcome<Tensor> sample_grid_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
    int64_t padding, bool align_corners, bool of_grid);
// aten's, which takes contiguous images alone.
Outcome<Tensor> grid_sampler(
    const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners);

}  // namespace shim
