#pragma once
// flip on CUDA where the last dim is among the reversed ones.
#include "core/tensor.h"

namespace shim::cuda {

// self with the dims that `turned` marks reversed, the last one among them; null where rows are not read in whole accesses.
Tensor flip_rows(const TensorImpl& self, const bool* turned);

}  // namespace shim::cuda
