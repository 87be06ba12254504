#pragma once
// kthvalue, median, nanmedian and mode of CUDA tensors.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<ValuesAndIndices> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim);  // k counts from 1
Outcome<Tensor> median(const Tensor& self);
Outcome<ValuesAndIndices> median_dim(const Tensor& self, int64_t dim, bool keepdim);
Outcome<ValuesAndIndices> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim);
// The most frequent, the least of several; the index of its last occurrence.
Outcome<ValuesAndIndices> mode(const Tensor& self, int64_t dim, bool keepdim);

}  // namespace shim::cuda
