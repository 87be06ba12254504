#pragma once
// Depthwise 1-d convolution: (batch, channels, size) by short kernels (channels, 1, taps) with stride 1. Null where there is no kernel for the
// case.
#include "core/tensor.h"

namespace shim::cuda {

// out[i] = bias + the sum over taps k of weight[k] * x[i + shift + k * dilation], `size` of them; `turned`: of weight[taps - 1 - k].
Tensor depthwise(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t shift, int64_t dilation,
    bool turned, int64_t size);
// The gradient of the weight: the sum over the batch and i of g[i] * x[i + shift + k * dilation]. The same sums in every run.
Tensor depthwise_weight(const Tensor& x, const Tensor& g, int64_t taps, int64_t shift, int64_t dilation);

}  // namespace shim::cuda
