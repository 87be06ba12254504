#pragma once
// unique and unique_consecutive of flattened CPU tensors. False where there is no kernel for the dtype.
#include "core/tensor.h"

namespace shim {

// `inverse` (self's shape) and `counts` are int64, and empty where they are not asked for. A NaN differs from every other one.
struct Unique {
  Tensor values, inverse, counts;
};
bool unique(const Tensor& self, bool inverse, bool counts, Unique*);              // sorted
bool unique_consecutive(const Tensor& self, bool inverse, bool counts, Unique*);  // equal neighbours become one

}  // namespace shim
