#pragma once
// Distances between rows of CPU tensors.
#include "ops/kernel.h"

namespace shim {

// (*, P, M), (*, R, M) -> (*, P, R) of norm 1, 2 or infinity.
Outcome<Tensor> cdist(const Tensor& a, const Tensor& b, double norm, std::optional<int64_t> compute_mode);

}  // namespace shim
