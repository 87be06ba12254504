#pragma once
// Reductions and softmax on CUDA, by kernels of our own; deterministic, no atomics.
#include "core/tensor.h"
#include "cpu/reduce.h"
#include "ops/cuda_kernels.h"
#include "ops/kernel.h"

namespace shim::cuda {

// The norm of order 1, 2 or an infinity over `dims`, or all; null where there is no kernel, or nothing to take it of.
Tensor vector_norm(const TensorImpl& self, double order, IntArrayRef dims, bool keepdim);
Outcome<Tensor> safe_softmax(const Tensor& self);  // along the last dim, with zeros for rows of -infinity alone
std::string compile_reduction(const char* op, DType in, DType compute, DType out, int vector,
    int architecture);  // the compiler's log; needs no GPU

}  // namespace shim::cuda
