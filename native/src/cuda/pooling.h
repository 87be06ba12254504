#pragma once
// Pools on CUDA, of one to three dims: real floats with elements.
#include "ops/kernel.h"

namespace shim::cuda {

using PooledDims = Registered<int>;  // how many of the last dims are pooled

// The places are flat indices within the pooled dims.
Outcome<ValuesAndIndices> max_pool_with_indices(PooledDims, const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);
Outcome<Tensor> max_pool(PooledDims, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    IntArrayRef dilation, bool ceil_mode);
Outcome<ValuesAndIndices> adaptive_max_pool(PooledDims, const Tensor& self, IntArrayRef output_size);
Outcome<Tensor> adaptive_avg_pool(PooledDims, const Tensor& self, IntArrayRef output_size);
Outcome<Tensor> avg_pool(PooledDims, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor);
// Of two dims, with a gradient of its own; `divisor` 0: the number of elements in the window.
Outcome<Tensor> mean_pool(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool include_pad, int64_t divisor);
Outcome<Tensor> mean_pool_backward(const Tensor& g, IntArrayRef size, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, bool include_pad, int64_t divisor);

}  // namespace shim::cuda
