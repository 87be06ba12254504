#pragma once
// Paddings of contiguous CPU tensors.
#include "ops/kernel.h"

namespace shim {

enum class Padding : uint8_t { reflect, replicate, circular };

// `places`: before and after, a pair a dim, the last dim first; negative ones cut.
Outcome<Tensor> pad_with(const Tensor& self, IntArrayRef places, Scalar value);
// The input continued, by no more than the mode reaches. Not of bool.
Outcome<Tensor> pad_from_itself(const Tensor& self, IntArrayRef places, Padding);
// `mode`: "constant", whose value is 0 where there is none, or a Padding's name.
Outcome<Tensor> pad(const Tensor& self, IntArrayRef places, std::string_view mode, std::optional<Scalar> value);

}  // namespace shim
