#pragma once
// searchsorted, linspace, tril_indices and triu_indices on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

// Of values of the sequences' dtype: one sequence for all, or as many as the values have rows; `order` sorts them, or is null.
Tensor searchsorted(const Tensor& sequences, const Tensor& values, const Tensor& order, bool right, DType out);
Tensor linspace(double start, double end, int64_t steps, DType, Device);  // float32 and float64
Tensor triangle_indices(
    int64_t rows, int64_t cols, int64_t diagonal, bool upper, DType, Device);  // (2, n), int32 or int64

}  // namespace shim::cuda
