#pragma once
// Moves of elements by their places, and dropout. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim {

Tensor flip(const TensorImpl& self, const bool* turned);             // turned[d]: whether dim d runs backwards
Tensor triangle(const Tensor& self, int64_t diagonal, bool upper);
// input / (1 - p) where the stream's number is at least p, else 0; `mask` gets where.
Tensor dropout(const Tensor& input, double p, uint64_t seed, uint64_t start, Tensor* mask);

}  // namespace shim
