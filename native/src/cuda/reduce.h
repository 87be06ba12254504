#pragma once
// Reductions and softmax on CUDA, by kernels of our own; deterministic, no atomics.
#include "core/tensor.h"
#include "cpu/reduce.h"

namespace shim::cuda {

// `reduced[d]`: whether dimension d goes. `out` has the kept dimensions, in order, contiguous, and any dtype; computed in
// `compute`, divided by `divisor`. False where there is no kernel.
bool reduce(Reduction, const TensorImpl& self, const bool* reduced, DType compute, const Tensor& out, double divisor);
// The norm of order 1, 2 or an infinity over `dims`, or all; null where there is no kernel, or nothing to take it of.
Tensor vector_norm(const TensorImpl& self, double order, DimSpan dims, bool keepdim);
// Both contiguous, the last dimension is the one; computed in `compute`.
bool softmax(const TensorImpl& self, const Tensor& out, bool log, DType compute);
std::string compile_reduction(const char* op, DType in, DType compute, DType out, int vector,
    int architecture);  // the compiler's log; needs no GPU

}  // namespace shim::cuda
