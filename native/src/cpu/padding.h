#pragma once
// Paddings of contiguous CPU tensors.
#include "core/tensor.h"
#include "ops/kernels.h"

namespace shim {

enum class Padding : uint8_t { reflect, replicate, circular };

// `pad`: places before and after, a pair a dim, the last dim first; negative ones cut.
Tensor pad_with(const Tensor& self, const Dims& pad, Scalar value);
// The input continued, by no more than the mode reaches; null where it would.
Tensor pad_from_itself(const Tensor& self, const Dims& pad, Padding);

}  // namespace shim
