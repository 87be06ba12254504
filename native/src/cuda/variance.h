#pragma once
// Variance on CUDA over dimensions that are not the last ones.
#include "core/tensor.h"

namespace shim::cuda {

// As variance() of rows.h, over neighbouring dimensions that are not the last ones. Null where there is no kernel for the case.
Tensor variance_down(const Tensor& self, IntArrayRef dims, bool keepdim, double correction, bool root, Tensor* mean);

}  // namespace shim::cuda
