#pragma once
// The most frequent value of each row of a CPU tensor.
#include "ops/kernel.h"

namespace shim {

// Along `dim`, the smallest where several are as frequent, and its last place. No NaN equals another.
Outcome<ValuesAndIndices> mode(const Tensor& self, int64_t dim, bool keepdim);

}  // namespace shim
