#pragma once
// equal and isclose of CPU tensors.
#include "ops/kernel.h"

namespace shim {

Outcome<bool> equal(const Tensor& a, const Tensor& b);  // of one dtype
// |a - b| <= absolute + |relative b|, or equal; of contiguous ones of one shape.
Outcome<Tensor> isclose(const Tensor& a, const Tensor& b, double relative, double absolute, bool equal_nan);

}  // namespace shim
