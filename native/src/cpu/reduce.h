#pragma once
// Reductions and softmax, of CPU tensors here and of CUDA ones through ops/cuda_kernels.h.
#include "ops/kernel.h"
#include "ops/reduction.h"

namespace shim {

// Over `dims` (empty: all), in `dtype` (undefined: PyTorch's default for the operator). Null where there is no kernel.
Tensor reduce(Reduction, const Tensor& self, IntArrayRef dims, bool keepdim, DType dtype);
Outcome<Tensor> reduced_over(Reduction, const Tensor& self, IntArrayRef dims, bool keepdim, DType dtype);

// The operators: no dim is all of them. Any and all of no dims, where none are named, are the body's.
Outcome<Tensor> reduce_all(Registered<Reduction>, const Tensor& self, std::optional<DType> dtype);
Outcome<Tensor> reduce_dims(Registered<Reduction>, const Tensor& self, std::optional<IntArrayRef> dims, bool keepdim,
    std::optional<DType> dtype);
Outcome<Tensor> reduce_dim(
    Registered<Reduction>, const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype);
Outcome<Tensor> diagonal_sum(const Tensor& self);

Outcome<Tensor> softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype);
Outcome<Tensor> log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype);

// The largest or smallest of n > 0 floats; NaN if there is one.
float extreme_value(const float* x, int64_t n, bool largest);
double extreme_value(const double* x, int64_t n, bool largest);
// The sum of n floats, as the operator adds up a row.
float sum_value(const float* x, int64_t n);
double sum_value(const double* x, int64_t n);

}  // namespace shim
