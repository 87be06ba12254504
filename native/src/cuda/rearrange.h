#pragma once
// Operators that only move elements of CUDA tensors.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> flip(const Tensor& self, IntArrayRef dims);
// self's last dim on the diagonals of matrices of the result's dims `first` and `second`, zeros elsewhere.
Outcome<Tensor> diag_embed(const Tensor& self, int64_t offset, int64_t first, int64_t second);

}  // namespace shim::cuda
