#pragma once
// Linear layers and products of matrices as the operators are called. What does not fit (a wrong shape, mixed dtypes, complex or integer
// matrices) is left to the records' rules, which raise PyTorch's errors, and to their bodies.
#include "ops/kernel.h"

namespace shim::gemm {

// --- layers (gemm/linear_operators.cpp) ----------------------------------------------------------------------------
Outcome<Tensor> linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias);
// The activation's result, and what its gradient needs.
Outcome<std::tuple<Tensor, Tensor>> fused_linear(
    const Tensor& input, const Tensor& weight, const OptionalTensor& bias, std::string_view activation, bool keep);
Outcome<Tensor> activation_slope(const Tensor& grad_output, const Tensor& saved, std::string_view activation);
// CUDA: that and its sum over the rows, in one launch.
Outcome<std::tuple<Tensor, Tensor>> activation_slope_and_sum(
    const Tensor& grad_output, const Tensor& saved, std::string_view activation);
Outcome<Tensor> scaled_product(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
    const OptionalTensor& bias, std::nullopt_t scale_result, DType out_dtype, bool use_fast_accum);
Outcome<Tensor> gradient_of_input(const Tensor& grad_output, const Tensor& weight, std::optional<DType> out_dtype);
Outcome<Tensor> gradient_of_weight(
    const Tensor& grad_output, const Tensor& input, bool transposed, std::optional<DType> out_dtype);
Outcome<Tensor> gradient_of_bias(const Tensor& grad_output);

// --- products (gemm/product_operators.cpp) -------------------------------------------------------------------------
enum class Product : uint8_t { mm, mv, bmm, dot };
Outcome<Tensor> product(Registered<Product>, const Tensor& self, const Tensor& other);
Outcome<Tensor> matmul_operator(const Tensor& self, const Tensor& other);
Outcome<Tensor> outer_product(const Tensor& self, const Tensor& other);
const char* no_outer_product(const Tensor& self, const Tensor& other);           // why there is none; null: there is
Outcome<Tensor> outer_gradient(const Tensor& grad_output, const Tensor& other);  // by self
Outcome<Tensor> outer_gradient_other(const Tensor& grad_output, const Tensor& self);  // by the other vector
Outcome<Tensor> added_product(
    Registered<Product>, const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha);
Outcome<Tensor> activated_product(
    const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha, bool use_gelu);
// Summed in float32 of 16-bit matrices.
Outcome<Tensor> product_in_dtype(Registered<Product>, const Tensor& a, const Tensor& b, DType out_dtype);
Outcome<Tensor> added_product_in_dtype(Registered<Product>, const Tensor& self, const Tensor& a, const Tensor& b,
    DType out_dtype, Scalar beta, Scalar alpha);
// Written where it is to be, with no result in between.
Outcome<const Tensor&> product_out(Registered<Product>, PlainTensor a, PlainTensor b, PlainTensor out);
Outcome<const Tensor&> product_in_dtype_out(
    Registered<Product>, PlainTensor a, PlainTensor b, DType out_dtype, PlainTensor out);
Outcome<const Tensor&> added_product_out(
    Registered<Product>, PlainTensor self, PlainTensor a, PlainTensor b, Scalar beta, Scalar alpha, PlainTensor out);
Outcome<const Tensor&> added_product_in_dtype_out(Registered<Product>, PlainTensor self, PlainTensor a, PlainTensor b,
    DType out_dtype, Scalar beta, Scalar alpha, PlainTensor out);
Outcome<const Tensor&> added_product_(
    Registered<Product>, PlainTensor self, PlainTensor a, PlainTensor b, Scalar beta, Scalar alpha);

}  // namespace shim::gemm
