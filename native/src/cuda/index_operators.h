#pragma once
// As cpu/index_operators.h has them.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> index_select(const Tensor& self, int64_t dim, const Tensor& index);
Outcome<Tensor> embedding(const Tensor& weight, const Tensor& indices);
Outcome<Tensor> gather_operator(const Tensor& self, int64_t dim, const Tensor& index);
Outcome<Tensor> index_at(const Tensor& self, OptionalTensorList indices);  // int32 indices too
Outcome<Tensor> index_operator(const Tensor& self, OptionalTensorList indices);
Outcome<Tensor> masked_select(const Tensor& self, const Tensor& mask);
Outcome<Tensor> nonzero_operator(const Tensor& self);

}  // namespace shim::cuda
