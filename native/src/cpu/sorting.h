#pragma once
// Stable sorts with indices, and selections. NaN counts as the largest. Null where there is no kernel for the dtype.
#include "core/tensor.h"

namespace shim {

Tensor sort(const Tensor& self, int64_t dim, bool descending, Tensor* values);  // the indices, int64
Tensor top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Tensor* values);
// The k-th smallest (from 0) along `dim`: its place (int64). `nan_first`: the first of equal ones, and a NaN is taken wherever there is one.
Tensor kth_value(const Tensor& self, int64_t k, int64_t dim, bool keepdim, bool nan_first, Tensor* values);

}  // namespace shim
