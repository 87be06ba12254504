// Linear layers with their activation, in the epilogue of the product where that is faster.
#include "gemm/cuda_kernels.h"
#include "gemm/operands.h"
#include "gemm/plan.h"
#include "gemm/rows.h"
#include "ops/kernels.h"
#include "ops/linear.h"

namespace shim::gemm {

namespace {

// The activation in the product's epilogue where cuBLASLt has the same function; else in a pass of our own. False: not possible.
bool epilogue_product(
    const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, const Tensor& y) {
  if (activation == Activation::gelu) return false;  // the library's GELU is the tanh form
  if (activation == Activation::gelu_tanh && y->dtype() == DType::f64) return false;  // and its constants are float32's
  Tensor packed = bias ? epilogue_bias(bias, weight->sizes_data()[0]) : Tensor();
  if (bias && !packed) return false;
  Matrix rows = rows_of(x, false);
  Call c = describe(rows, flip(matrix(weight)), result_of(y, rows.rows, weight->sizes_data()[0]));
  if (activation == Activation::relu) {
    c.problem.epilogue = bias ? Epilogue::relu_bias : Epilogue::relu;
  } else {
    c.problem.epilogue = bias ? Epilogue::gelu_bias : Epilogue::gelu;
  }
  if (bias) {
    c.problem.bias_dtype = bias->dtype();
    c.buffers.bias = packed->data();
  }
  return launch(x->device(), c.problem, c.buffers);
}

// A tensor of x's leading sizes and n, whose rows are padded to 8 elements as the GELU epilogue writes them.
Tensor padded(const Tensor& x, int64_t n) {
  const int64_t ld = (n + 7) / 8 * 8;
  Dims sizes = with_last(x, ld), strides;
  Tensor whole = empty(sizes, x->dtype(), x->device());
  sizes.back() = n;
  return as_strided(*whole, sizes, whole->strides(), 0);
}

// The product with its bias, and the activation in a pass of our own over what is still in the cache.
Activated activation_after(
    const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, bool two_results) {
  const int64_t n = weight->sizes_data()[0];
  Tensor z = forward_wide(x, weight, bias);
  if (!z) return {};
  Tensor y = two_results ? empty(z->sizes(), z->dtype(), z->device()) : z;
  const int64_t rows = z->numel() / n;
  if (!activate(x->device(), activation, result_of(z, rows, n), result_of(y, rows, n))) return {};
  return {y, two_results ? z : Tensor()};
}

// gelu with its input kept: writing both results may cost the epilogue more than a pass over one of them does.
Activated gelu_kept(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  const int64_t n = weight->sizes_data()[0];
  Tensor packed = bias ? epilogue_bias(bias, n) : Tensor();
  const bool exact = activation == Activation::gelu || x->dtype() == DType::f64;
  if (x->dim() == 1 || exact || (bias && !packed)) return activation_after(x, weight, bias, activation, true);
  Activated fused{empty(with_last(x, n), x->dtype(), x->device()), padded(x, n)}, after;
  Matrix rows = rows_of(x, false);
  Call c = describe(rows, flip(matrix(weight)), result_of(fused.y, rows.rows, n));
  c.problem.epilogue = bias ? Epilogue::gelu_aux_bias : Epilogue::gelu_aux;
  c.problem.aux_ld = fused.kept->strides_data()[fused.kept->dim() - 2];
  c.buffers.aux = fused.kept->data();
  if (bias) {
    c.problem.bias_dtype = bias->dtype();
    c.buffers.bias = packed->data();
  }
  const auto run = [&](bool in_epilogue) {
    if (in_epilogue) return launch(x->device(), c.problem, c.buffers);
    after = activation_after(x, weight, bias, activation, true);
    return bool(after.y);
  };
  if (worth_fusing(x->device().index, c.problem, c.buffers, run) && run(true)) return fused;
  return run(false) ? after : Activated{};
}

Activated activation_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, bool keep) {
  const int64_t n = weight->sizes_data()[0], none[1] = {0};
  if (!n || !x->numel()) return {};
  if (keep && activation != Activation::relu) return gelu_kept(x, weight, bias, activation);
  Tensor y = empty(with_last(x, n), x->dtype(), x->device());
  if (!epilogue_product(x, weight, bias, activation, y) &&
      !(y = activation_after(x, weight, bias, activation, false).y))
    return {};
  return {y, keep ? alias(*y) : empty(none, x->dtype(), x->device())};
}

}  // namespace

Activated linear_activation(
    const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, bool keep) {
  if (!can_launch(x->device(), x->dtype())) return {};
  const DType dtype = x->dtype();
  if (x->device().is_cuda()) return activation_cuda(x, weight, bias, activation, keep);
  Tensor z = forward_wide(x, weight, bias);
  if (!z) return {};
  const int64_t none[1] = {0};
  if (activation == Activation::relu) {
    Tensor y = rounded(unary("relu", z, z), dtype);
    return {y, keep ? alias(*y) : empty(none, dtype, x->device())};
  }
  const char* name = activation == Activation::gelu ? "gelu" : "gelu_tanh";
  if (!keep) return {rounded(unary(name, z, z), dtype), empty(none, dtype, x->device())};
  return {rounded(unary(name, z), dtype), rounded(z, dtype)};
}

Tensor activation_backward(Activation activation, const Tensor& dy, const Tensor& kept) {
  if (dy->device().is_cpu()) return activation_backward_cpu(activation, dy, kept);
  return activation_backward_bias(activation, dy, kept, false).dz;
}

// CUDA: one pass over dy and what was kept, the sums in the same launch.
SlopeAndSum activation_backward_bias(Activation activation, const Tensor& dy, const Tensor& kept, bool sums) {
  if (!dy->device().is_cuda() || dy->dim() == 0 || !dy->numel()) return {};
  Tensor dz = empty(dy->sizes(), dy->dtype(), dy->device()), db;
  const int64_t n[1] = {dy->sizes_data()[dy->dim() - 1]};
  if (sums) db = empty(n, dy->dtype(), dy->device());
  const Matrix d = result_of(dz, dz->numel() / n[0], n[0]);
  if (!activation_slope(dy->device(), activation, plain_rows(dy), plain_rows(kept), d, db ? db->data() : nullptr))
    return {};
  return {dz, db};
}

}  // namespace shim::gemm
