#pragma once
// constant_pad_nd, circular padding, roll and repeat on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// Pairs (before, after) of elements more, the last dimension first; fewer of self's own where they are negative.
Outcome<Tensor> constant_pad(const Tensor& self, IntArrayRef pairs, Scalar value);
// Pairs likewise, of no fewer than none: what follows an end is what the other end begins with.
Outcome<Tensor> circular_pad(const Tensor& self, IntArrayRef pairs);
Outcome<Tensor> roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims);
Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats);

}  // namespace shim::cuda
