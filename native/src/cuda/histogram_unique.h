#pragma once
// bincount, histc and unique on CUDA. Null where there is no kernel for the case. All wait for the GPU: the results' sizes depend on values.
#include "core/tensor.h"

namespace shim::cuda {

// Of a 1-d tensor of integers; null where some are negative. weights: of float32 or float64, or null.
Tensor bincount(const Tensor& self, const Tensor& weights, int64_t least);
// Equal bins between two numbers, or the least and the greatest where those are equal; null where these are no range.
Tensor histc(const Tensor& self, int64_t bins, double low, double high);
// The values of runs of equal neighbours (of all elements sorted, with `sorts`); if not null, `inverse` gets the run of each element, `counts` the runs' lengths.
Tensor unique(const Tensor& self, bool sorts, Tensor* inverse, Tensor* counts);

}  // namespace shim::cuda
