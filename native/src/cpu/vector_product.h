#pragma once
// Vector products along a dim of three elements.
#include "core/tensor.h"

namespace shim {

// Of two tensors of one shape, contiguous. Null: not this kernel's dtype (float32, float64, int32 and int64 are).
Tensor vector_product(const Tensor& a, const Tensor& b, int64_t dim);

}  // namespace shim
