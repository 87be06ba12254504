#pragma once
// One operation on lists of CUDA tensors, for torch._foreach_*. Where no kernel fits there is no answer, and the caller
// takes one tensor at a time.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/value.h"

namespace shim {

// `others` is a tuple of operands, `numbers` one for all, a sequence, or None. The new tensors, or with in_place those given.
std::optional<std::vector<Tensor>> cuda_each(
    std::string_view op, bool in_place, const Value& self, const Value& others, const Value& numbers);
Tensor cuda_norms(const Value& list, std::string_view order);  // "two", "one" or "infinity": a tensor of them

}  // namespace shim
