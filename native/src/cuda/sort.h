#pragma once
// Stable sorts of CUDA tensors, with indices (int64). NaN counts as the largest.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<ValuesAndIndices> sort(const Tensor& self, int64_t dim, bool descending);
Outcome<ValuesAndIndices> top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, Ignored sorted = {});

}  // namespace shim::cuda
