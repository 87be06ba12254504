#pragma once
// Elements of CPU tensors by their indices, as the operators are called.
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> index_select(const Tensor& self, int64_t dim, const Tensor& index);
Outcome<Tensor> embedding(const Tensor& weight, const Tensor& indices);
Outcome<Tensor> gather_operator(const Tensor& self, int64_t dim, const Tensor& index);
Outcome<Tensor> index_at(const Tensor& self, OptionalTensorList indices);  // of neighbouring dims, int64
Outcome<Tensor> index_operator(
    const Tensor& self, OptionalTensorList indices);  // the same, and one mask over the leading dims
Outcome<Tensor> masked_select(const Tensor& self, const Tensor& mask);
Outcome<Tensor> nonzero_operator(const Tensor& self);

}  // namespace shim
