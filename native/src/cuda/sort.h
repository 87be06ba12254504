#pragma once
// Stable sorts with indices on CUDA. NaN counts as the largest. Null where there is no kernel, or another way is faster.
#include "core/tensor.h"

namespace shim::cuda {

Tensor sort(const Tensor& self, int64_t dim, bool descending, Tensor* values);  // the indices, int64
Tensor top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, Tensor* values);

}  // namespace shim::cuda
