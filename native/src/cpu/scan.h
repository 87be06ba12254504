#pragma once
// Running sums, products and extremes along a dim. Null where there is no kernel for the dtype or the arguments are for the record to
// refuse.
#include "core/tensor.h"

namespace shim {

Tensor running_sum(const Tensor& self, int64_t dim, DType dtype);  // dtype: the result's
Tensor running_product(const Tensor& self, int64_t dim, DType dtype);
// The last places (int64) of the extremes so far, a NaN staying one; `values` gets the extremes.
Tensor running_extreme(bool largest, const Tensor& self, int64_t dim, Tensor* values);

}  // namespace shim
