#pragma once
// constant_pad_nd on CUDA.
#include "core/tensor.h"
#include "ops/kernels.h"

namespace shim::cuda {

// self with before[d] and after[d] elements of `value` along each dimension, fewer of its own where they are negative; contiguous.
// Null where there is no kernel for the case.
Tensor pad(const TensorImpl& self, IntArrayRef before, IntArrayRef after, Scalar value);

}  // namespace shim::cuda
