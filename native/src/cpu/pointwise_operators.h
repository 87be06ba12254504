#pragma once
// Pointwise operators as they are called: on CPU and CUDA tensors, new results or in place. What PyTorch refuses is left to the record's
// rules, which know its errors.
#include "cpu/kernel_table.h"
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> unary_operator(Registered<PointwiseOp>, const Tensor& self);
Outcome<const Tensor&> unary_operator_(Registered<PointwiseOp>, const Tensor& self);
Outcome<Tensor> binary_operator(Registered<PointwiseOp>, const TensorOrScalar& self, const TensorOrScalar& other);
Outcome<const Tensor&> binary_operator_(Registered<PointwiseOp>, const Tensor& self, const TensorOrScalar& other);
// `rounding`: none, "floor" or "trunc".
Outcome<Tensor> divide(
    const TensorOrScalar& self, const TensorOrScalar& other, std::optional<std::string_view> rounding);
Outcome<const Tensor&> divide_(
    const Tensor& self, const TensorOrScalar& other, std::optional<std::string_view> rounding);
Outcome<Tensor> add_with_alpha(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha);
Outcome<const Tensor&> add_with_alpha_(const Tensor& self, const TensorOrScalar& other, const Scalar& alpha);
Outcome<Tensor> sub_with_alpha(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha);
Outcome<const Tensor&> sub_with_alpha_(const Tensor& self, const TensorOrScalar& other, const Scalar& alpha);
// Into an out that is as the result would be.
Outcome<const Tensor&> unary_operator_out(Registered<PointwiseOp>, const Tensor& self, PlainTensor out);
Outcome<const Tensor&> binary_operator_out(
    Registered<PointwiseOp>, const TensorOrScalar& self, const TensorOrScalar& other, PlainTensor out);
Outcome<const Tensor&> sum_with_alpha_out(Registered<bool> subtract, const TensorOrScalar& self,
    const TensorOrScalar& other, const Scalar& alpha, PlainTensor out);
Outcome<Tensor> gelu(const Tensor& self, std::string_view approximate);
Outcome<Tensor> where(const Tensor& condition, const TensorOrScalar& self, const TensorOrScalar& other);
Outcome<Tensor> clamp(const Tensor& self, const std::optional<Scalar>& least, const std::optional<Scalar>& most);

}  // namespace shim
