#pragma once
// sort, topk, kthvalue and median of CPU tensors, with indices (int64). NaN counts as the largest.
#include "ops/kernel.h"

namespace shim {

Outcome<ValuesAndIndices> sort(const Tensor& self, int64_t dim, bool descending);  // stable
Outcome<ValuesAndIndices> top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted);
Outcome<ValuesAndIndices> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim);  // k counts from 1
Outcome<Tensor> median(const Tensor& self);
Outcome<ValuesAndIndices> median_dim(const Tensor& self, int64_t dim, bool keepdim);  // the first of equal ones

}  // namespace shim
