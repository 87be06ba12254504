#pragma once
// The rows that linear layers multiply, and the matrices of their results.
#include "gemm/cuda_kernels.h"
#include "gemm/operands.h"
#include "gemm/plan.h"
#include "gemm/skinny.h"
#include "ops/kernels.h"
#include "ops/linear.h"

namespace shim::gemm {

namespace {

inline Matrix result_of(const Tensor& out, int64_t rows, int64_t cols, int64_t batch = 1) {
  return Matrix{.data = out->data(),
      .dtype = out->dtype(),
      .rows = rows,
      .cols = cols,
      .ld = std::max<int64_t>(cols, 1),
      .batch = batch,
      .stride = batch > 1 ? rows * cols : 0};
}

// out = alpha a b + beta out.
inline bool product(
    const Matrix& a, const Matrix& b, const Matrix& d, Device device, double alpha = 1, double beta = 0) {
  Call c = describe(a, b, d);
  c.problem.accumulate = beta != 0;
  return launch(device, c.problem, c.buffers, alpha, beta);
}

// The bias as the epilogue reads it: one number a feature, packed, aligned for vector loads (copied if it is not); else null.
inline Tensor epilogue_bias(const Tensor& bias, int64_t n) {
  if (bias->dim() == 0 || bias->numel() != n || bias->sizes_data()[bias->dim() - 1] != n || !bias->is_contiguous())
    return {};
  return reinterpret_cast<uintptr_t>(bias->data()) % 16 == 0 ? bias : clone(bias, MemoryFormat::contiguous);
}

inline bool forward_product(const Matrix& x, const Matrix& w, const Matrix& d, const Tensor& bias, const Tensor& out) {
  const Device device = out->device();
  if (!bias) return product(x, w, d, device);
  if (Tensor packed = device.is_cuda() ? epilogue_bias(bias, d.cols) : Tensor()) {
    Call c = describe(x, w, d);
    c.problem.epilogue = Epilogue::bias;
    c.problem.bias_dtype = bias->dtype();
    c.buffers.bias = packed->data();
    if (launch(device, c.problem, c.buffers)) return true;
  }
  copy_(out, bias);
  return product(x, w, d, device, 1, 1);
}

inline Dims with_last(const Tensor& t, int64_t last) {
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.back() = last;
  return sizes;
}

inline Tensor contiguous_copy(const Tensor& t) { return t->is_contiguous() ? t : clone(t, MemoryFormat::contiguous); }
inline Matrix rows_of(const Tensor& t, bool may_batch) { return t->dim() == 1 ? row_vector(t) : folded(t, may_batch); }

// Rows as our own kernels read them: row-major, one matrix.
inline Matrix plain_rows(const Tensor& t) {
  Matrix m = rows_of(t, false);
  return m.transposed && m.cols > 1 ? rows_of(contiguous_copy(t), false) : m;
}

// The product and its bias in the dtype it is computed in.
inline Tensor forward_wide(const Tensor& x0, const Tensor& weight0, const Tensor& bias0) {
  const int64_t n = weight0->sizes_data()[0], k = weight0->sizes_data()[1];
  Tensor x = widened(x0), weight = widened(weight0), bias = bias0 ? widened(bias0) : Tensor();
  Tensor out = empty(with_last(x, n), x->dtype(), x->device());
  if (out->numel()) {
    if (k == 0) {
      if (bias)
        copy_(out, bias);
      else
        zero(out);
    } else {
      const bool plain_bias = !bias || bias->dim() <= 1;
      Matrix rows = rows_of(x, plain_bias);
      if (!forward_product(rows, flip(matrix(weight)), result_of(out, rows.rows, n, rows.batch), bias, out)) return {};
    }
  }
  return out;
}

}  // namespace

}  // namespace shim::gemm
