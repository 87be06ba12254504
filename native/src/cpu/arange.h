#pragma once
#include "core/tensor.h"

namespace shim {

// first, first + step, first + 2 step ... of a contiguous tensor of float32, float64, int32 or int64 on the CPU. For integers both are
// integral, and all values below 2^53 in magnitude.
void fill_range(const Tensor& out, double first, double step);

}  // namespace shim
