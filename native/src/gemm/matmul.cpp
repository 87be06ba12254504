// torch.mm, mv, bmm, addmm, baddbmm and matmul by way of one problem description.
#include "cpu/dot_products.h"
#include "gemm/complex_product.h"
#include "gemm/cuda_kernels.h"
#include "ops/cuda_kernels.h"
#include "ops/linear.h"
#include "gemm/operands.h"
#include "ops/gemm_settings.h"
#include "ops/kernels.h"

namespace shim::gemm {
namespace {

constexpr int64_t kLongVector = 1 << 16;

// d = alpha a b + beta d into `out`, which has a.rows x b.cols elements a batch.
bool multiply(const Matrix& a, const Matrix& b, const Tensor& out, double alpha = 1, double beta = 0) {
  if (!out->numel()) return true;
  if (a.cols == 0) {
    if (beta == 0) zero(out);
    return beta == 0 || beta == 1;
  }
  const int64_t batch = std::max(a.batch, b.batch);
  Matrix d{.data = out->data(),
      .dtype = out->dtype(),
      .rows = a.rows,
      .cols = b.cols,
      .ld = std::max<int64_t>(b.cols, 1),
      .batch = batch,
      .stride = batch > 1 ? a.rows * b.cols : 0};
  Call c = describe(a, b, d);
  c.problem.accumulate = beta != 0;
  return launch(out->device(), c.problem, c.buffers, alpha, beta);
}

Tensor give(const Matrix& a, const Matrix& b, IntArrayRef sizes, DType dtype, Device device) {
  Tensor out = empty(sizes, a.dtype, device);
  if (!multiply(a, b, out)) return {};
  return rounded(out, dtype);
}

// The last two dimensions as a batch over `batch`, which t's leading dimensions broadcast to. Broadcast operands have stride 0.
Matrix batch_of(const Tensor& t, const Dims& batch) {
  Dims sizes = batch;
  const int64_t *size = t->sizes_data(), *stride = t->strides_data();
  const int dims = t->dim();
  sizes.push_back(size[dims - 2]);
  sizes.push_back(size[dims - 1]);
  Tensor wide = expand(*t, sizes);
  size = wide->sizes_data();
  stride = wide->strides_data();
  int64_t count = 1, step = 0, inner = 1;
  bool single = true, first = true;
  for (int i = int(batch.size()) - 1; i >= 0; --i) {
    if (size[i] == 1) continue;
    if (first)
      step = stride[i];
    else
      single = single && stride[i] == inner * step;
    first = false;
    inner *= size[i];
    count *= size[i];
  }
  const int64_t rows = sizes[sizes.size() - 2], cols = sizes.back();
  const int64_t flat[3] = {count, rows, cols};
  if (!single) return matrices(view(*contiguous(wide), flat));
  const int64_t strides[3] = {step, stride[wide->dim() - 2], stride[wide->dim() - 1]};
  return matrices(as_strided(*wide, flat, strides, wide->storage_offset()));
}

Tensor matmul_batched(const Tensor& a, const Tensor& b, DType dtype) {
  Tensor left = a->dim() == 1 ? unsqueeze(*a, 0) : a, right = b->dim() == 1 ? unsqueeze(*b, 1) : b;
  Dims batch =
      broadcast_shapes(left->sizes().first(size_t(left->dim() - 2)), right->sizes().first(size_t(right->dim() - 2)));
  Dims sizes = batch;
  if (a->dim() > 1) sizes.push_back(left->sizes()[size_t(left->dim() - 2)]);
  if (b->dim() > 1) sizes.push_back(right->sizes()[size_t(right->dim() - 1)]);
  return give(batch_of(left, batch), batch_of(right, batch), sizes, dtype, a->device());
}

}  // namespace

Tensor product_in(DType to, const Tensor& self, const Tensor& a0, const Tensor& b0, double beta, double alpha) {
  if (!can_launch(a0->device(), a0->dtype())) return {};
  Tensor a = operand(a0, to), b = operand(b0, to);
  Dims sizes(a->sizes().begin(), a->sizes().end());
  sizes.back() = b->sizes().back();
  if (!self) beta = 0;
  if (beta != 0 && beta != 1 && a->sizes().back() == 0) return {};
  Tensor out = empty(sizes, product_dtype(a, to), a->device());
  if (beta != 0 && out->numel()) copy_(out, self);
  const bool batch = a->dim() == 3;
  if (!multiply(batch ? matrices(a) : matrix(a), batch ? matrices(b) : matrix(b), out, alpha, beta)) return {};
  return rounded(out, to);
}

bool product_into(
    const Tensor& out, const Tensor& self, const Tensor& a0, const Tensor& b0, double beta, double alpha) {
  if (!can_launch(a0->device(), a0->dtype()) || !out->is_contiguous() || !out->numel() || !a0->numel()) return false;
  const auto shares = [&](const Tensor& t) { return t->storage().get() == out->storage().get(); };
  const bool own = self && self.get() == out.get();
  if (shares(a0) || shares(b0) || (self && !own && shares(self))) return false;
  Tensor a = operand(a0, out->dtype()), b = operand(b0, out->dtype());
  if (product_dtype(a, out->dtype()) != out->dtype()) return false;  // it is rounded from another dtype
  if (!self) beta = 0;
  if (beta != 0 && !own) copy_(out, self);
  const bool batch = a->dim() == 3;
  return multiply(batch ? matrices(a) : matrix(a), batch ? matrices(b) : matrix(b), out, alpha, beta);
}

Tensor mm(const Tensor& a, const Tensor& b) {
  if (!can_launch(a->device(), a->dtype())) return complex_matmul(a, b);
  const int64_t sizes[2] = {a->sizes_data()[0], b->sizes_data()[1]};
  return give(matrix(widened(a)), matrix(widened(b)), sizes, a->dtype(), a->device());
}

Tensor mv(const Tensor& a, const Tensor& x) {
  if (!can_launch(a->device(), a->dtype())) return complex_matmul(a, x);
  const int64_t sizes[1] = {a->sizes_data()[0]};
  return give(matrix(widened(a)), flip(row_vector(widened(x))), sizes, a->dtype(), a->device());
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (!can_launch(a->device(), a->dtype())) return complex_matmul(a, b);
  const int64_t sizes[3] = {a->sizes_data()[0], a->sizes_data()[1], b->sizes_data()[2]};
  return give(matrices(widened(a)), matrices(widened(b)), sizes, a->dtype(), a->device());
}

Tensor addmm(const Tensor& self, const Tensor& a0, const Tensor& b0, double beta, double alpha) {
  if (!can_launch(a0->device(), a0->dtype())) {
    const Tensor product = beta == 1 && alpha == 1 ? complex_matmul(a0, b0) : Tensor();
    return product ? add(product, self, Scalar{Scalar::Int, 1}) : product;
  }
  Tensor a = widened(a0), b = widened(b0);
  Dims sizes(a->sizes().begin(), a->sizes().end());
  const bool vector = b->dim() == 1;
  if (vector)
    sizes.pop_back();
  else
    sizes.back() = b->sizes_data()[b->dim() - 1];
  if (self->dim() == 1 && !vector && beta == 1 && alpha == 1 && a->dim() == 2 && a->device().is_cuda())
    return linear_forward(a, transpose(*b, 0, 1), self);  // the bias rides in the epilogue
  Tensor out = empty(sizes, a->dtype(), a->device());
  if (beta != 0 && out->numel()) copy_(out, self);
  if (beta != 0 && beta != 1 && a->sizes_data()[a->dim() - 1] == 0) return {};
  Matrix left = a->dim() == 3 ? matrices(a) : matrix(a);
  Matrix right = vector ? flip(row_vector(b)) : b->dim() == 3 ? matrices(b) : matrix(b);
  if (!multiply(left, right, out, alpha, beta)) return {};
  return rounded(out, a0->dtype());
}

Tensor addmm_activation(
    Activation activation, const Tensor& self, const Tensor& a, const Tensor& b, double beta, double alpha) {
  if (self->dim() == 1 && beta == 1 && alpha == 1)
    return linear_activation(a, transpose(*b, 0, 1), self, activation, false).y;
  Tensor z = addmm(self, a, b, beta, alpha);
  if (!z || !z->numel()) return z;
  if (z->device().is_cpu())
    return unary(activation == Activation::relu ? "relu" : activation == Activation::gelu ? "gelu" : "gelu_tanh", z, z);
  return activate(z->device(), activation, matrix(z), matrix(z)) ? z : Tensor();
}

Tensor matmul(const Tensor& a0, const Tensor& b0) {
  if (!can_launch(a0->device(), a0->dtype())) return complex_matmul(a0, b0);
  // A product of one row and one column is few blocks' work in a library made for matrices.
  if (a0->dim() == 1 && b0->dim() == 1 && a0->numel() >= kLongVector && a0->device().is_cuda() && a0->is_contiguous() &&
      b0->is_contiguous() && !a0->has_math_bits() && !b0->has_math_bits())
    if (Tensor found = cuda::dot(a0, b0)) return found;
  Tensor a = widened(a0), b = widened(b0);
  const DType dtype = a0->dtype();
  if (b->dim() > 2 || (a->dim() == 1 && b->dim() > 2)) return matmul_batched(a, b, dtype);
  Dims sizes(a->sizes().begin(), a->sizes().end());
  sizes.pop_back();
  if (b->dim() == 2) sizes.push_back(b->sizes_data()[1]);
  Matrix left = a->dim() == 1 ? row_vector(a) : folded(a, b->dim() == 2);
  Matrix right = b->dim() == 1 ? flip(row_vector(b)) : matrix(b);
  return give(left, right, sizes, dtype, a->device());
}

Tensor outer(const Tensor& a, const Tensor& b) {
  const int64_t sizes[2] = {a->sizes_data()[0], b->sizes_data()[0]};
  if (a->device().is_cpu()) return binary("mul", unsqueeze(*a, 1), unsqueeze(*b, 0));
  Tensor out = empty(sizes, a->dtype(), a->device());
  if (!out->numel()) return out;
  const auto vector = [](const Tensor& t) { return Vector{t->data(), t->strides_data()[0]}; };
  const Matrix y{.data = out->data(), .dtype = out->dtype(), .rows = sizes[0], .cols = sizes[1], .ld = sizes[1]};
  return outer_product(a->device(), vector(a), vector(b), y) ? out : Tensor();
}

Tensor outer_backward_input(const Tensor& dy, const Tensor& other) { return mv(dy, other); }
Tensor outer_backward_other(const Tensor& dy, const Tensor& input) { return mv(transpose(*dy, 0, 1), input); }

Tensor matmul_backward_input(const Tensor& dy, const Tensor& other) {
  return matmul(dy, transpose(*other, other->dim() - 2, other->dim() - 1));
}

Tensor matmul_backward_other(const Tensor& dy, const Tensor& input) {
  return matmul(transpose(*input, input->dim() - 2, input->dim() - 1), dy);
}

}  // namespace shim::gemm
