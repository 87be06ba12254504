#include "cpu/reduce.h"
#include "gemm/complex_product.h"
#include "gemm/cuda_kernels.h"
#include "gemm/operands.h"
#include "gemm/plan.h"
#include "gemm/rows.h"
#include "gemm/skinny.h"
#include "ops/gemm_settings.h"
#include "ops/kernels.h"
#include "ops/linear.h"

namespace shim::gemm {

Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!can_launch(x->device(), x->dtype())) {
    const Tensor y = complex_matmul(x, transpose(*weight, 0, 1));
    return y && bias ? add(y, bias, Scalar{Scalar::Int, 1}) : y;
  }
  Tensor out = forward_wide(x, weight, bias);
  return out ? rounded(out, x->dtype()) : out;
}

Tensor linear_backward_input(const Tensor& dy0, const Tensor& weight0, DType to) {
  if (!can_launch(dy0->device(), dy0->dtype())) return complex_matmul(dy0, weight0);
  if (to == DType::undefined) to = dy0->dtype();
  Tensor dy = operand(dy0, to), weight = operand(weight0, to);
  const int64_t k = weight->sizes_data()[1];
  Tensor out = empty(with_last(dy, k), product_dtype(dy, to), dy->device());
  if (out->numel()) {
    if (weight->sizes_data()[0] == 0) {
      zero(out);
    } else {
      Matrix rows = rows_of(dy, true);
      if (!product(rows, matrix(weight), result_of(out, rows.rows, k, rows.batch), out->device())) return {};
    }
  }
  return rounded(out, to);
}

Tensor linear_backward_weight(const Tensor& dy0, const Tensor& x0, bool transposed, DType to) {
  if (!can_launch(dy0->device(), dy0->dtype())) return complex_weight_gradient(dy0, x0, transposed);
  if (to == DType::undefined) to = dy0->dtype();
  Tensor dy = operand(dy0, to), x = operand(x0, to);
  const int64_t n = dy->sizes_data()[dy->dim() - 1], k = x->sizes_data()[x->dim() - 1];
  const int64_t shape[2] = {transposed ? k : n, transposed ? n : k};
  Tensor out = empty(shape, product_dtype(dy, to), dy->device());
  if (out->numel()) {
    Matrix rows = rows_of(dy, false);
    if (rows.rows == 0) {
      zero(out);
    } else {
      Matrix d = result_of(out, shape[0], shape[1]);
      if (!product(flip(rows), rows_of(x, false), transposed ? flip(d) : d, out->device())) return {};
    }
  }
  out = rounded(out, to);
  return transposed ? transpose(*out, 0, 1) : out;
}

Tensor linear_backward_bias(const Tensor& dy) {
  const int64_t n = dy->sizes_data()[dy->dim() - 1];
  if (dy->dim() == 1) return clone(dy);
  if (dy->device().is_cuda()) {
    const int64_t one[1] = {n};
    Tensor db = empty(one, dy->dtype(), dy->device());
    if (dy->numel() == 0) {
      zero(db);
      return db;
    }
    return column_sums(dy->device(), plain_rows(dy), db->data()) ? db : Tensor();
  }
  int64_t rows = 1;
  for (int i = 0; i + 1 < dy->dim(); ++i) rows *= dy->sizes_data()[i];
  Dims strides;
  const int64_t shape[2] = {rows, n};
  Tensor flat = dy->dim() == 2                                                 ? dy
                : try_view_strides(dy->sizes(), dy->strides(), shape, strides) ? view(*dy, shape)
                                                                               : view(*contiguous(dy), shape);
  const int64_t over[1] = {0};
  return reduce(Reduction::sum, flat, over, false, DType::undefined);
}

namespace {

bool served(const Tensor& dy, const Tensor& x, const Tensor& weight) {
  if (!can_launch(dy->device(), dy->dtype())) return false;
  const auto alike = [&](const Tensor& t) { return t->dtype() == dy->dtype() && t->device() == dy->device(); };
  if (x && (!alike(x) || x->dim() != dy->dim())) return false;
  return !weight || (alike(weight) && weight->sizes_data()[0] == dy->sizes_data()[dy->dim() - 1]);
}

// dW and db as one product whose epilogue sums the rows of dy. False: not measured to be faster, or not possible.
bool weight_and_bias(const Tensor& dy, const Tensor& x, bool transposed, Tensor& dw, Tensor& db) {
  if (legacy_linear()) return false;
  const int64_t n = dy->sizes_data()[dy->dim() - 1], k = x->sizes_data()[x->dim() - 1];
  const DType t = dy->dtype();
  if (!dy->device().is_cuda() || (t != DType::f32 && !narrow(t)) || n < 2 || k < 2 || dy->numel() / n < 2) return false;
  Matrix rows = rows_of(dy, false);
  if (rows.transposed) return false;
  const int64_t shape[2] = {transposed ? k : n, transposed ? n : k};
  Tensor out = empty(shape, t, dy->device()), sums = empty(IntArrayRef(&n, 1), t, dy->device());
  const Matrix d = result_of(out, shape[0], shape[1]);
  const Call plain = describe(flip(rows), rows_of(x, false), transposed ? flip(d) : d);
  if (transposed ? plain.problem.trans_a : !plain.problem.trans_b) return false;
  Call fused = plain;  // dy is operand A of a result that is transposed, else B
  fused.problem.epilogue = transposed ? Epilogue::bgrad_a : Epilogue::bgrad_b;
  fused.problem.bias_dtype = t;
  fused.buffers.bias = sums->data();
  const Device device = dy->device();
  const auto run = [&](bool at_once) {
    if (at_once) return launch(device, fused.problem, fused.buffers);
    return launch(device, plain.problem, plain.buffers) && column_sums(device, rows, sums->data());
  };
  if (!worth_fusing(device.index, fused.problem, fused.buffers, run) || !run(true)) return false;
  dw = transposed ? transpose(*out, 0, 1) : out;
  db = sums;
  return true;
}

}  // namespace

// Few rows: reading the weight, writing dW and summing dy overlap in one launch.
bool linear_backward_at_once(
    const Tensor& dy, const Tensor& x, const Tensor& weight, bool sums, const Tensor& add_to, LinearGradients* r) {
  const int64_t n = dy->sizes_data()[dy->dim() - 1];
  if (!dy->device().is_cuda() || legacy_linear() || !settings().one_launch || !n || dy->numel() / n > kSkinnyRows ||
      (x ? 1 : 0) + (weight ? 1 : 0) + sums < 2)
    return false;
  Matrix g = rows_of(dy, false), in, w, dx, dw;
  const int64_t k = weight ? weight->sizes_data()[1] : x ? x->sizes_data()[x->dim() - 1] : 0;
  if (g.rows < 1 || k < 1) return false;
  LinearGradients made;
  if (x) {
    const int64_t shape[2] = {n, k};
    in = rows_of(x, false);
    made.dw = add_to ? add_to : empty(shape, dy->dtype(), dy->device());
    dw = result_of(made.dw, n, k);
  }
  if (weight) {
    w = matrix(weight);
    made.dx = empty(with_last(dy, k), dy->dtype(), dy->device());
    dx = result_of(made.dx, g.rows, k);
  }
  if (sums) made.db = empty(IntArrayRef(&n, 1), dy->dtype(), dy->device());
  if (!skinny_gradients(dy->device().index, g, in, w, dx, dw, sums ? made.db->data() : nullptr, bool(add_to)))
    return false;
  if (add_to) made.dw = {};
  made.done = true;
  *r = std::move(made);
  return true;
}

LinearGradients linear_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, bool transposed, bool sums) {
  LinearGradients r;
  if (dy->dim() < 2 || !served(dy, x, weight)) return r;
  if (transposed || !linear_backward_at_once(dy, x, weight, sums, {}, &r)) {
    if (weight && !(r.dx = linear_backward_input(dy, weight))) return {};
    if (x && sums && weight_and_bias(dy, x, transposed, r.dw, r.db)) {
      r.done = true;
      return r;
    }
    if (x && !(r.dw = linear_backward_weight(dy, x, transposed))) return {};
    if (sums && !(r.db = linear_backward_bias(dy))) return {};
  }
  r.done = true;
  return r;
}

}  // namespace shim::gemm
