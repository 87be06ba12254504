#pragma once
#include "ops/kernels.h"

namespace shim {

// copy_ where one of the two has a conjugate or negative bit; of one shape or to be broadcast.
void copy_through_math_bits(const Tensor& self, const Tensor& src, bool non_blocking);
Scalar number_in_memory(const TensorImpl& self, Scalar value);  // what memory must hold for self to read as `value`

}  // namespace shim
