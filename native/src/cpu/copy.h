#pragma once
// Copies within the CPU's memory, and what they ask of how two tensors lie.
#include "core/tensor.h"

namespace shim {

bool same_layout(const TensorImpl& a, const TensorImpl& b);  // equal shape and strides, no holes
bool overlap(const TensorImpl& a, const TensorImpl& b);      // whether they share memory
// Of equal shape, both on the CPU, any strides and dtypes; where they overlap, they are of one dtype and layout.
void copy_cpu(const TensorImpl& self, const TensorImpl& src);

}  // namespace shim
