#pragma once
// flip, tril and triu of CPU tensors. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim {

Tensor flip(const TensorImpl& self, const bool* turned);  // turned[d]: whether dim d runs backwards
Tensor triangle(const Tensor& self, int64_t diagonal, bool upper);

}  // namespace shim
