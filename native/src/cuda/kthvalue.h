#pragma once
// Elements of a rank along a dim, medians and modes on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

enum class Rank : int { kth = 0, median = 1, nanmedian = 2 };
// The values along `dim`, which is kept with size 1 where `keepdim`; their places, int64, to `places` unless it is null. `k` from 1, for kth.
Tensor ranked(const Tensor& self, int64_t dim, Rank, int64_t k, bool keepdim, Tensor* places);
// The most frequent, the least of several; its last place.
Tensor most_frequent(const Tensor& self, int64_t dim, bool keepdim, Tensor* places);

}  // namespace shim::cuda
