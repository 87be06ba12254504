#pragma once
// sort, topk and kthvalue with indices, stable. NaN counts as the largest. Null where there is no kernel for the dtype.
#include "core/tensor.h"

namespace shim {

Tensor sort(const Tensor& self, int64_t dim, bool descending, Tensor* values);  // the indices, int64
Tensor top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Tensor* values);
// The index (int64) of the k-th smallest (from 0) along `dim`. `nan_first`: the first of equal ones, and a NaN is taken wherever there is one.
Tensor kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim, bool nan_first, Tensor* values);

}  // namespace shim
