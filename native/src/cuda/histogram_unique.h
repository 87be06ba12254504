#pragma once
// Counts and distinct values on CUDA. Null where there is no kernel for the case. All wait for the GPU: values are the results' sizes.
#include "core/tensor.h"

namespace shim::cuda {

// Of whole numbers of one dimension; null where some are negative. weights: of float32 or float64, or null.
Tensor bincount(const Tensor& self, const Tensor& weights, int64_t least);
// Equal bins between two numbers, or the least and the greatest where those are equal; null where these are no range.
Tensor histogram(const Tensor& self, int64_t bins, double low, double high);
// The values of runs of equal neighbours (of all elements sorted, with `sorts`); where asked for also every element's run and the runs' lengths.
Tensor distinct(const Tensor& self, bool sorts, Tensor* inverse, Tensor* counts);

}  // namespace shim::cuda
