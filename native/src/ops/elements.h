#pragma once
// Single elements as numbers of the interpreter, and back.
#include "ops/kernels.h"

namespace shim {

Scalar load_number(const void* element, DType);
// A CPU tensor of the numbers in order; `wanted` undefined: of the dtype that they say. Null: a cast that may be refused.
Tensor tensor_of_numbers(IntArrayRef sizes, std::span<const Scalar> numbers, DType wanted);

}  // namespace shim
