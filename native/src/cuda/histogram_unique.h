#pragma once
// bincount, histc and unique on CUDA. All wait for the GPU: the results' sizes depend on values.
#include "ops/kernel.h"

namespace shim::cuda {

// Of a 1-d tensor of integers, none of them negative.
Outcome<Tensor> bincount(const Tensor& self, const OptionalTensor& weights, int64_t minlength);
// Equal bins between two numbers, or the least and the greatest where those are equal.
Outcome<Tensor> histc(const Tensor& self, int64_t bins, double min, double max);
// The values of runs of equal elements, the run of each element, and the runs' lengths; the latter two empty where not asked for.
using Uniques = std::tuple<Tensor, Tensor, Tensor>;
Outcome<Uniques> unique(const Tensor& self, Ignored sorted, bool return_inverse, bool return_counts);  // in order
Outcome<Uniques> unique_consecutive(
    const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim);

}  // namespace shim::cuda
