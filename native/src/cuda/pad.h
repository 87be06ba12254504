#pragma once
// constant_pad_nd and repeat on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// Pairs (before, after) of elements more, the last dimension first; fewer of self's own where they are negative.
Outcome<Tensor> constant_pad(const Tensor& self, IntArrayRef pairs, Scalar value);
Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats);

}  // namespace shim::cuda
