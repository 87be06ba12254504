#pragma once
// flip, repeat, tril and triu of CPU tensors.
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> flip(const Tensor& self, IntArrayRef dims);
Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats);
Tensor triangle(const Tensor& self, int64_t diagonal, bool upper);  // null where there is no kernel for the case

}  // namespace shim
