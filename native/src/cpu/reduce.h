#pragma once
#include "core/tensor.h"
#include "ops/reduction.h"

namespace shim {

// Over `dims` (empty: all), in `dtype` (undefined: PyTorch's default for the operator). Null where there is no kernel.
Tensor reduce(Reduction, const Tensor& self, IntArrayRef dims, bool keepdim, DType dtype);
Tensor softmax(const Tensor& self, int64_t dim, bool log, DType dtype);  // dtype undefined: self's
// The largest or smallest of n > 0 floats; NaN if there is one.
float extreme_value(const float* x, int64_t n, bool largest);
double extreme_value(const double* x, int64_t n, bool largest);

}  // namespace shim
