#pragma once
// Reductions that need more than one pass or give indices: variance, argmax and argmin, logsumexp, norms, count_nonzero. Null where there is no kernel for the dtype or the arguments are for the record to refuse.
#include "core/tensor.h"

namespace shim {

// Over `dims` (empty: all). `mean`, where asked for, gets the means.
Tensor variance(const Tensor& self, IntArrayRef dims, bool keepdim, double correction, bool root, Tensor* mean);
// Indices (int64) of the largest or smallest, the first NaN before all; `all`: of the flattened tensor. `values`, where asked for.
Tensor arg_extreme(bool largest, const Tensor& self, int64_t dim, bool all, bool keepdim, Tensor* values);
Tensor logsumexp(const Tensor& self, IntArrayRef dims, bool keepdim);
Tensor count_nonzero(const Tensor& self, IntArrayRef dims);
Tensor norm2(const Tensor& self, IntArrayRef dims, bool keepdim);  // Euclidean, of floating tensors

}  // namespace shim
