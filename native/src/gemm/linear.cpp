#include "cpu/dot_products.h"
#include "gemm/linear.h"

#include "cpu/reduce.h"
#include "gemm/cuda_kernels.h"
#include "gemm/operands.h"
#include "gemm/plan.h"
#include "gemm/settings.h"
#include "gemm/skinny.h"
#include "ops/kernels.h"

namespace shim::gemm {
namespace {

Matrix result_of(const Tensor& out, int64_t rows, int64_t cols, int64_t batch = 1) {
  return Matrix{.data = out->data(),
      .dtype = out->dtype(),
      .rows = rows,
      .cols = cols,
      .ld = std::max<int64_t>(cols, 1),
      .batch = batch,
      .stride = batch > 1 ? rows * cols : 0};
}

// out = alpha a b + beta out.
bool product(const Matrix& a, const Matrix& b, const Matrix& d, Device device, double alpha = 1, double beta = 0) {
  Call c = describe(a, b, d);
  c.problem.accumulate = beta != 0;
  return launch(device, c.problem, c.buffers, alpha, beta);
}

// The bias as the epilogue reads it: one number a feature, packed, aligned for vector loads (copied if it is not); else null.
Tensor epilogue_bias(const Tensor& bias, int64_t n) {
  if (bias->dim() == 0 || bias->numel() != n || bias->sizes_data()[bias->dim() - 1] != n || !bias->is_contiguous())
    return {};
  return reinterpret_cast<uintptr_t>(bias->data()) % 16 == 0 ? bias : clone(bias, MemoryFormat::contiguous);
}

bool forward_product(const Matrix& x, const Matrix& w, const Matrix& d, const Tensor& bias, const Tensor& out) {
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

Dims with_last(const Tensor& t, int64_t last) {
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.back() = last;
  return sizes;
}

Tensor contiguous_copy(const Tensor& t) { return t->is_contiguous() ? t : clone(t, MemoryFormat::contiguous); }
Matrix rows_of(const Tensor& t, bool may_batch) { return t->dim() == 1 ? row_vector(t) : folded(t, may_batch); }

// Rows as our own kernels read them: row-major, one matrix.
Matrix plain_rows(const Tensor& t) {
  Matrix m = rows_of(t, false);
  return m.transposed && m.cols > 1 ? rows_of(contiguous_copy(t), false) : m;
}

// The product and its bias in the dtype it is computed in.
Tensor forward_wide(const Tensor& x0, const Tensor& weight0, const Tensor& bias0) {
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

Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!can_launch(x->device(), x->dtype())) return {};
  Tensor out = forward_wide(x, weight, bias);
  return out ? rounded(out, x->dtype()) : out;
}

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

Tensor linear_backward_input(const Tensor& dy0, const Tensor& weight0, DType to) {
  if (!can_launch(dy0->device(), dy0->dtype())) return {};
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
  if (!can_launch(dy0->device(), dy0->dtype())) return {};
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
  Tensor out = empty(shape, t, dy->device()), sums = empty(DimSpan(&n, 1), t, dy->device());
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
  if (sums) made.db = empty(DimSpan(&n, 1), dy->dtype(), dy->device());
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
