#pragma once
// unique and unique_consecutive of flattened CPU tensors.
#include "ops/kernel.h"

namespace shim {

// The values, the place of each element's value among them (self's shape) and how often each is there. The last two are int64, and
// empty where they are not asked for. A NaN differs from every other one.
using Distinct = std::tuple<Tensor, Tensor, Tensor>;
Outcome<Distinct> unique(const Tensor& self, Ignored sorted, bool inverse, bool counts);  // always sorted
// Equal neighbours become one.
Outcome<Distinct> unique_consecutive(const Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim);

}  // namespace shim
