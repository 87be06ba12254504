#pragma once
#include <string>

#include "ops/operator.h"
#include "ops/value.h"

namespace shim {

// The overload that PyTorch would call: x > 0 is gt.Scalar there, which has overloads of their own for numbers; only arithmetic takes
// numbers for tensors.
std::string shown_overload(const Operator&, const Value* args, size_t n);

}  // namespace shim
