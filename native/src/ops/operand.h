#pragma once
// What a pointwise kernel reads or writes: memory and how its elements lie.
#include "core/tensor.h"

namespace shim {

constexpr int kMaxOperands = 5;  // the output and four inputs

struct Operand {
  char* data = nullptr;
  DType dtype = DType::undefined;
  IntArrayRef sizes, strides;  // in elements; broadcasts against the shape of the whole
  static Operand of(const TensorImpl& t) { return {static_cast<char*>(t.data()), t.dtype(), t.sizes(), t.strides()}; }
};

}  // namespace shim
