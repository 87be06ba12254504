#include "gemm/linear.h"

#include "cpu/reduce.h"
#include "gemm/operands.h"
#include "ops/kernels.h"

namespace shim::gemm {
namespace {

bool narrow(DType t) { return t == DType::f16 || t == DType::bf16; }

// The 16-bit floats are computed in float32 on the CPU and rounded once, at the end.
Tensor widened(const Tensor& t) { return t->device().is_cpu() && narrow(t->dtype()) ? to_dtype(t, DType::f32) : t; }
Tensor rounded(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }

Matrix result_of(const Tensor& out, int64_t rows, int64_t cols, int64_t batch = 1) {
  return Matrix{.data = out->data(), .dtype = out->dtype(), .rows = rows, .cols = cols, .ld = std::max<int64_t>(cols, 1), .batch = batch,
                .stride = batch > 1 ? rows * cols : 0};
}

void zero(const Tensor& t) { fill_(t, Number{Number::Int, 0}); }

// out = alpha a b + beta out.
bool product(const Matrix& a, const Matrix& b, const Matrix& d, Device device, double alpha = 1, double beta = 0) {
  Call c = describe(a, b, d);
  c.problem.accumulate = beta != 0;
  return launch(device, c.problem, c.buffers, alpha, beta);
}

// Whether a bias can be read by the epilogue: one number a feature, packed, aligned as the vectorised loads want it.
bool epilogue_bias(const Tensor& bias, int64_t n) {
  return bias->numel() == n && bias->sizes_data()[bias->dim() - 1] == n && bias->is_contiguous() && n > 1 &&
         reinterpret_cast<uintptr_t>(bias->data()) % 16 == 0;
}

bool forward_product(const Matrix& x, const Matrix& w, const Matrix& d, const Tensor& bias, const Tensor& out) {
  const Device device = out->device();
  if (!bias) return product(x, w, d, device);
  if (device.is_cuda() && bias->dim() > 0 && epilogue_bias(bias, d.cols)) {
    Call c = describe(x, w, d);
    c.problem.epilogue = Epilogue::bias;
    c.problem.bias_dtype = bias->dtype();
    c.buffers.bias = bias->data();
    if (launch(device, c.problem, c.buffers)) return true;
  }
  copy_(out, bias);
  return product(x, w, d, device, 1, 1);
}

Dims with_last(const Tensor& t, int64_t last) {
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.back() = last;
  return sizes;
}

Matrix rows_of(const Tensor& t, bool may_batch) { return t->dim() == 1 ? row_vector(t) : folded(t, may_batch); }

// The product and its bias in the dtype it is computed in.
Tensor forward_wide(const Tensor& x0, const Tensor& weight0, const Tensor& bias0) {
  const int64_t n = weight0->sizes_data()[0], k = weight0->sizes_data()[1];
  Tensor x = widened(x0), weight = widened(weight0), bias = bias0 ? widened(bias0) : Tensor();
  Tensor out = empty(with_last(x, n), x->dtype(), x->device());
  if (out->numel()) {
    if (k == 0) {
      if (bias) copy_(out, bias);
      else zero(out);
    } else {
      const bool plain_bias = !bias || bias->dim() <= 1;
      Matrix rows = rows_of(x, plain_bias);
      if (!forward_product(rows, flip(matrix(weight)), result_of(out, rows.rows, n, rows.batch), bias, out)) return {};
    }
  }
  return out;
}

}  // namespace

Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!can_launch(x->device(), x->dtype())) return {};
  Tensor out = forward_wide(x, weight, bias);
  return out ? rounded(out, x->dtype()) : out;
}

Activated linear_activation(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, bool keep) {
  if (!x->device().is_cpu() || !can_launch(x->device(), x->dtype())) return {};
  const DType dtype = x->dtype();
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
  return dy->device().is_cpu() ? activation_backward_cpu(activation, dy, kept) : Tensor();
}

Tensor linear_backward_input(const Tensor& dy0, const Tensor& weight0) {
  if (!can_launch(dy0->device(), dy0->dtype())) return {};
  Tensor dy = widened(dy0), weight = widened(weight0);
  const int64_t k = weight->sizes_data()[1];
  Tensor out = empty(with_last(dy, k), dy->dtype(), dy->device());
  if (out->numel()) {
    if (weight->sizes_data()[0] == 0) {
      zero(out);
    } else {
      Matrix rows = rows_of(dy, true);
      if (!product(rows, matrix(weight), result_of(out, rows.rows, k, rows.batch), out->device())) return {};
    }
  }
  return rounded(out, dy0->dtype());
}

Tensor linear_backward_weight(const Tensor& dy0, const Tensor& x0, bool transposed) {
  if (!can_launch(dy0->device(), dy0->dtype())) return {};
  Tensor dy = widened(dy0), x = widened(x0);
  const int64_t n = dy->sizes_data()[dy->dim() - 1], k = x->sizes_data()[x->dim() - 1];
  const int64_t shape[2] = {transposed ? k : n, transposed ? n : k};
  Tensor out = empty(shape, dy->dtype(), dy->device());
  if (out->numel()) {
    Matrix rows = rows_of(dy, false);
    if (rows.rows == 0) {
      zero(out);
    } else {
      Matrix d = result_of(out, shape[0], shape[1]);
      if (!product(flip(rows), rows_of(x, false), transposed ? flip(d) : d, out->device())) return {};
    }
  }
  out = rounded(out, dy0->dtype());
  return transposed ? transpose(*out, 0, 1) : out;
}

Tensor linear_backward_bias(const Tensor& dy) {
  const int64_t n = dy->sizes_data()[dy->dim() - 1];
  if (dy->dim() == 1) return clone(dy);
  if (!dy->device().is_cpu()) return {};
  int64_t rows = 1;
  for (int i = 0; i + 1 < dy->dim(); ++i) rows *= dy->sizes_data()[i];
  Dims strides;
  const int64_t shape[2] = {rows, n};
  Tensor flat = dy->dim() == 2 ? dy : try_view_strides(dy->sizes(), dy->strides(), shape, strides) ? view(*dy, shape) : view(*contiguous(dy), shape);
  const int64_t over[1] = {0};
  return reduce(Reduction::sum, flat, over, false, DType::undefined);
}

}  // namespace shim::gemm
