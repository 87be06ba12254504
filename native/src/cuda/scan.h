#pragma once
// cumsum, cumprod, logcumsumexp, cummax, cummin, nonzero and masked_select on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

enum class Running { sum, product, log_sum_exp };
Tensor running(Running how, const Tensor& self, int64_t dim, DType dtype);
// The greatest or least so far, and the last place of it; NaN counts as either.
Tensor running_extreme(bool largest, const Tensor& self, int64_t dim, Tensor* values);
// As cpu/indexing.h has them. Both wait for the GPU: how many there are is the result's size.
Tensor nonzero(const Tensor& self);
Tensor take_masked(const Tensor& self, const Tensor& mask);  // of one shape

}  // namespace shim::cuda
