#pragma once
// Distances between rows.
#include "core/tensor.h"

namespace shim {

// (*, P, M), (*, R, M) -> (*, P, R) of norm 1, 2 or infinity; null for other norms, dtypes and shapes that broadcast.
Tensor distances(const Tensor& a, const Tensor& b, double norm);

}  // namespace shim
