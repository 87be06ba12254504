#pragma once
// flip and repeat of CPU tensors; triangles, diagonals, and complex numbers of their parts.
#include "core/sparse.h"
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> flip(const Tensor& self, IntArrayRef dims);
Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats);

Outcome<Tensor> tril(const Tensor& self, int64_t diagonal);
Outcome<Tensor> triu(const Tensor& self, int64_t diagonal);
// The places of a triangle of a (row, col) matrix: (2, n), int64.
Outcome<Tensor> tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
    std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory);
Outcome<Tensor> triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
    std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory);
// The two dims are the last ones.
Outcome<Tensor> diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
Outcome<Tensor> complex(const Tensor& real, const Tensor& imag);  // of one shape and dtype, contiguous

}  // namespace shim
