#pragma once
// kthvalue, median, nanmedian and mode along a dim on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

enum class OrderStatistic : int { kth = 0, median = 1, nanmedian = 2 };
// The values along `dim`, which is kept with size 1 where `keepdim`; their indices, int64, to `indices` unless it is null. `k` from 1, for kth.
Tensor order_statistic(const Tensor& self, int64_t dim, OrderStatistic, int64_t k, bool keepdim, Tensor* indices);
// The most frequent, the least of several; the index of its last occurrence.
Tensor mode(const Tensor& self, int64_t dim, bool keepdim, Tensor* indices);

}  // namespace shim::cuda
