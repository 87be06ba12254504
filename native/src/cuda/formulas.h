#pragma once
// Pointwise operators that have a kernel on CUDA and a body in array operations elsewhere.
#include <span>

#include "cpu/pointwise.h"

namespace shim::cuda {

// Of tensors of one floating dtype on one device, or numbers; `extra` are the numbers of the operators whose functors take some. The result is new,
// or `out`, which must have its shape and dtype. Null where there is no kernel for the case.
Tensor formula(const char* op, std::span<const TensorOrScalar> inputs, const double (&extra)[3], Tensor out = {});

}  // namespace shim::cuda
