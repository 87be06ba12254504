#pragma once
// Operators that only move elements of CUDA tensors.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> flip(const Tensor& self, IntArrayRef dims);
// Turned by k times 90 degrees in the plane of two dims; laid out like self with those dims in each other's place.
Outcome<Tensor> rot90(const Tensor& self, int64_t k, IntArrayRef dims);
// self's last dim on the diagonals of matrices of the result's dims `first` and `second`, zeros elsewhere.
Outcome<Tensor> diag_embed(const Tensor& self, int64_t offset, int64_t first, int64_t second);

}  // namespace shim::cuda
