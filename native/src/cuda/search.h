#pragma once
// searchsorted, linspace, tril_indices, triu_indices, eye and one_hot on CUDA.
#include <string_view>

#include "ops/kernel.h"

namespace shim::cuda {

// Of values of the sequences' dtype: one sequence for all, or as many as the values have rows.
Outcome<Tensor> searchsorted(const Tensor& sequences, const Tensor& values, bool out_int32, bool right,
    std::optional<std::string_view> side, const OptionalTensor& sorter);
// Whether each element is among `tests`, or is not; compared in the promoted dtype.
Outcome<Tensor> isin(const Tensor& elements, const TensorOrScalar& tests, Ignored assume_unique, bool invert);
// Integers, float32 and float64.
Outcome<Tensor> linspace(Scalar start, Scalar end, int64_t steps, std::optional<DType>, Ignored layout, Device,
    std::optional<bool> pin_memory);
// (2, n), int32 or int64
Outcome<Tensor> tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType>, Ignored layout, Device,
    std::optional<bool> pin_memory);
Outcome<Tensor> triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType>, Ignored layout, Device,
    std::optional<bool> pin_memory);

// Ones on the diagonal of a matrix of zeros, (n, n) or (n, m).
Outcome<Tensor> eye(
    int64_t n, std::optional<DType>, Ignored layout, std::optional<Device>, std::optional<bool> pin_memory);
Outcome<Tensor> eye_m(
    int64_t n, int64_t m, std::optional<DType>, Ignored layout, std::optional<Device>, std::optional<bool> pin_memory);

// int64 classes (*) -> (*, count), int64; a class that is none of the `count` has no 1.
Outcome<Tensor> one_hot(const Tensor& classes, int64_t count);

}  // namespace shim::cuda
