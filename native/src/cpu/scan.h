#pragma once
// Running sums, products and extremes of CPU tensors along a dim.
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype);  // of integers: int64
Outcome<Tensor> cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype);
// The extremes so far, a NaN staying one, and their last places.
Outcome<ValuesAndIndices> cummax(const Tensor& self, int64_t dim);
Outcome<ValuesAndIndices> cummin(const Tensor& self, int64_t dim);

}  // namespace shim
