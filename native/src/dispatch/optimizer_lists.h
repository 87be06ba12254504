#pragma once
// What a group of an optimizer brings for a step, as lists.
#include <optional>
#include <span>
#include <vector>

#include "ops/value.h"

namespace shim {

// Of parameters and their states, a dict of each or none: the parameters with a gradient, their gradients, and the tensors of each name
// among the states; one list alone: parameters whose states are empty yet. None where they are no plain tensors of one device (and, on
// CUDA, dtype), or lack a tensor, or where others are to see what PyTorch's optimizers call.
std::optional<std::vector<std::vector<Tensor>>> step_lists(
    std::span<const Value> params, std::span<const Value> states, std::span<const Value> names);

}  // namespace shim
