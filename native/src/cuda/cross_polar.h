#pragma once
// cross and polar on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> cross(
    const Tensor& a, const Tensor& b, int64_t dim);  // of one shape, real dtype and device, `dim` of size 3
Outcome<Tensor> polar(const Tensor& length, const Tensor& angle);  // float32 or float64, of one shape

}  // namespace shim::cuda
