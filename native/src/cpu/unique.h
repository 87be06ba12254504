#pragma once
// Distinct values of flattened CPU tensors. False where there is no kernel for the dtype.
#include "core/tensor.h"

namespace shim {

// `inverse` (self's shape) and `counts` are int64, and empty where they are not asked for. A NaN differs from every other one.
struct Distinct {
  Tensor values, inverse, counts;
};
bool distinct(const Tensor& self, bool inverse, bool counts, Distinct*);       // sorted
bool distinct_runs(const Tensor& self, bool inverse, bool counts, Distinct*);  // of neighbours

}  // namespace shim
