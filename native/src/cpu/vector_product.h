#pragma once
// Vector products along a dim of three elements, of CPU tensors.
#include "ops/kernel.h"

namespace shim {

// Of two tensors of one shape: float32, float64, int32 or int64.
Outcome<Tensor> vector_product(const Tensor& a, const Tensor& b, int64_t dim);

}  // namespace shim
