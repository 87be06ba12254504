#pragma once
// The most frequent value of each row.
#include "core/tensor.h"

namespace shim {

// Along `dim`, the smallest where several are as frequent, and its last place (int64). No NaN equals another. Null: not this kernel's.
Tensor mode(const Tensor& self, int64_t dim, bool keepdim, Tensor* values);

}  // namespace shim
