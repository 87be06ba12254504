#pragma once
// The call of another operator with its history, for kernels of composites.
#include "ops/operator.h"
#include "core/tensor.h"

namespace shim {

// Set by the binding, which has the general call.
inline Tensor (*recorded_call)(Operator&, const Tensor& first, const Tensor& second) = nullptr;

}  // namespace shim
