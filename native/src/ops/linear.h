#pragma once
// Pure kernels of matrix products: one result each, no autograd, no Python. A null Tensor means that this device or dtype is
// not served here and the caller's other way is to be taken. Shapes and dtypes are checked by the caller.
#include <optional>
#include <string_view>

#include "core/tensor.h"

namespace shim::gemm {

enum class Activation : uint8_t { none, relu, gelu, gelu_tanh };
inline Activation activation_named(std::string_view name) {
  return name == "relu"        ? Activation::relu
         : name == "gelu"      ? Activation::gelu
         : name == "gelu_tanh" ? Activation::gelu_tanh
                               : Activation::none;
}

// y = act(x weight^T + bias): x (..., K), weight (N, K), bias null or broadcasting to (..., N).
Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias);
// act(x weight^T + bias), and what its gradient needs where `keep`: the activation's input for gelu, the result for relu.
struct Activated {
  Tensor y, kept;
};
Activated linear_activation(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation, bool keep);
Tensor activation_backward(Activation, const Tensor& dy, const Tensor& kept);  // dy act'(z)
Tensor activation_backward_cpu(Activation, const Tensor& dy, const Tensor& kept);
struct SlopeAndSum {
  Tensor dz, db;
};
SlopeAndSum activation_backward_bias(Activation, const Tensor& dy, const Tensor& kept, bool sums);  // CUDA only
// The same with dy = dy2 weight2, of the layer after: one product with an epilogue, where that was measured to be faster; else null.
SlopeAndSum linear_backward_input_activated(
    Activation, const Tensor& dy2, const Tensor& weight2, const Tensor& kept, bool sums);
// dx = dy weight, of shape (..., K), in dtype `to` (undefined: the operands'), which may be float32 of 16-bit operands.
Tensor linear_backward_input(const Tensor& dy, const Tensor& weight, DType to = DType::undefined);
// dW = dy^T x; laid out as (K, N) memory when `transposed` (the weight was a transposed view).
Tensor linear_backward_weight(const Tensor& dy, const Tensor& x, bool transposed = false, DType to = DType::undefined);
// db = dy summed over its rows.
Tensor linear_backward_bias(const Tensor& dy);

// All of them: dW where x is given, dx where the weight is, db where `sums`; of few rows on CUDA in one launch. Not done: a
// dtype, device or shape is not served, and nothing was computed that anybody sees.
struct LinearGradients {
  Tensor dx, dw, db;
  bool done = false;
};
// `add_to`: a contiguous tensor of dW's size, which dW is added to instead of being given.
bool linear_backward_at_once(
    const Tensor& dy, const Tensor& x, const Tensor& weight, bool sums, const Tensor& add_to, LinearGradients*);
LinearGradients linear_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, bool transposed, bool sums);

// beta * self + alpha * a b in dtype `to`, which is the operands' or float32 of 16-bit ones; a and b of two or three dimensions,
// self null or broadcasting to the product, of either dtype.
Tensor product_in(DType to, const Tensor& self, const Tensor& a, const Tensor& b, double beta, double alpha);
// The same into `out`, which has the product's sizes and may be self itself. False: not possible as out lies, nothing was written.
bool product_into(const Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b, double beta, double alpha);
Tensor mm(const Tensor& a, const Tensor& b);   // (M, K) (K, N)
Tensor mv(const Tensor& a, const Tensor& x);   // (M, K) (K)
Tensor bmm(const Tensor& a, const Tensor& b);  // (B, M, K) (B, K, N)
// beta * self + alpha * a b: self broadcasts to the product; a and b of two or three dimensions.
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, double beta, double alpha);
Tensor addmm_activation(
    Activation, const Tensor& self, const Tensor& a, const Tensor& b, double beta, double alpha);  // two dimensions
Tensor matmul(const Tensor& a, const Tensor& b);  // any dimensions, as torch.matmul

// float8 (M, K) times float8 (K, N) stored column by column, with one float32 factor an operand, or one a row and a column. CUDA only.
Tensor scaled_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b, const Tensor& bias,
    DType out, bool fast);

Tensor outer(const Tensor& a, const Tensor& b);                      // (M) (N) -> (M, N); CUDA by a kernel of its own
Tensor outer_backward_input(const Tensor& dy, const Tensor& other);  // dy other: (M, N) (N) -> (M)
Tensor outer_backward_other(const Tensor& dy, const Tensor& input);  // dy^T input: (M, N) (M) -> (N)

Tensor matmul_backward_input(const Tensor& dy, const Tensor& other);  // dy other^T, batched as dy
Tensor matmul_backward_other(const Tensor& dy, const Tensor& input);  // input^T dy

}  // namespace shim::gemm
