#pragma once
// cross and polar on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

Tensor cross(const Tensor& a, const Tensor& b, int64_t dim);  // of one shape, real dtype and device, `dim` of size 3
Tensor polar(const Tensor& length, const Tensor& angle);      // float32 or float64, of one shape

}  // namespace shim::cuda
