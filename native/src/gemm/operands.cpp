#include "gemm/operands.h"

#include "cpu/dot_products.h"
#include "ops/gemm_settings.h"
#include "ops/kernels.h"

namespace shim::gemm {
namespace {

// Whether (rows, cols) with these strides is a matrix for BLAS; sizes of 1 may carry any stride.
bool place(Matrix& m, int64_t row_stride, int64_t col_stride) {
  const bool one_row = m.rows <= 1, one_col = m.cols <= 1;
  if ((col_stride == 1 || one_col) && (one_row || row_stride >= std::max<int64_t>(m.cols, 1))) {
    m.transposed = false;
    m.ld = one_row ? std::max<int64_t>(m.cols, 1) : row_stride;
    return true;
  }
  if ((row_stride == 1 || one_row) && (one_col || col_stride >= std::max<int64_t>(m.rows, 1))) {
    m.transposed = true;
    m.ld = one_col ? std::max<int64_t>(m.rows, 1) : col_stride;
    return true;
  }
  return false;
}

Matrix copied(const Tensor& t, int64_t rows, int64_t cols, int64_t batch) {
  Matrix m;
  m.holder = contiguous(t);
  m.data = m.holder->data();
  m.dtype = t->dtype();
  m.rows = rows;
  m.cols = cols;
  m.batch = batch;
  m.ld = std::max<int64_t>(cols, 1);
  m.stride = batch > 1 ? rows * cols : 0;
  return m;
}

Matrix start(const Tensor& t, int64_t rows, int64_t cols) {
  Matrix m;
  m.holder = t;
  m.data = t->data();
  m.dtype = t->dtype();
  m.rows = rows;
  m.cols = cols;
  return m;
}

constexpr int64_t kBatchRows = 32;  // fewer rows a product are better copied together

}  // namespace

Matrix matrix(const Tensor& t) {
  const int64_t *size = t->sizes_data(), *stride = t->strides_data();
  Matrix m = start(t, size[0], size[1]);
  return place(m, stride[0], stride[1]) ? m : copied(t, size[0], size[1], 1);
}

Matrix matrices(const Tensor& t) {
  const int64_t *size = t->sizes_data(), *stride = t->strides_data();
  Matrix m = start(t, size[1], size[2]);
  m.batch = size[0];
  m.stride = size[0] > 1 ? stride[0] : 0;
  if (m.stride < 0 || !place(m, stride[1], stride[2])) return copied(t, size[1], size[2], size[0]);
  return m;
}

Matrix flip(Matrix m) {
  std::swap(m.rows, m.cols);
  m.transposed = !m.transposed;
  return m;
}

Matrix folded(const Tensor& t, bool may_batch) {
  const int dims = t->dim();
  const int64_t *size = t->sizes_data(), *stride = t->strides_data();
  const int64_t cols = size[dims - 1];
  int64_t rows = 1;
  for (int i = 0; i + 1 < dims; ++i) rows *= size[i];
  struct Group {
    int64_t size, stride;
  } groups[2] = {};
  int count = 0;  // innermost first
  for (int i = dims - 2; i >= 0; --i) {
    if (size[i] == 1) continue;
    if (count && stride[i] == groups[count - 1].size * groups[count - 1].stride) {
      groups[count - 1].size *= size[i];
    } else if (count == 2) {
      return copied(t, rows, cols, 1);
    } else {
      groups[count++] = {size[i], stride[i]};
    }
  }
  if (count == 2) {
    const bool overlaps = groups[1].stride < 0;
    if (!may_batch || overlaps || groups[0].size < kBatchRows || rows == 0) return copied(t, rows, cols, 1);
    Matrix m = start(t, groups[0].size, cols);
    m.batch = groups[1].size;
    m.stride = groups[1].stride;
    return place(m, groups[0].stride, stride[dims - 1]) ? m : copied(t, rows, cols, 1);
  }
  Matrix m = start(t, rows, cols);
  return place(m, count ? groups[0].stride : cols, stride[dims - 1]) ? m : copied(t, rows, cols, 1);
}

Matrix row_vector(const Tensor& t) {
  Matrix m = start(t, 1, t->sizes_data()[0]);
  return place(m, m.cols, t->strides_data()[0]) ? m : copied(t, 1, m.cols, 1);
}

Call describe(const Matrix& a, const Matrix& b, const Matrix& d) {
  if (d.transposed) return describe(flip(b), flip(a), flip(d));
  Call c;
  const int64_t batch = d.batch;
  c.problem = GemmProblem{.a_dtype = b.dtype,
      .b_dtype = a.dtype,
      .d_dtype = d.dtype,
      .compute = a.dtype == DType::f64 ? Compute::f64 : Compute::f32,
      .trans_a = b.transposed,
      .trans_b = a.transposed,
      .m = d.cols,
      .n = d.rows,
      .k = a.cols,
      .lda = b.ld,
      .ldb = a.ld,
      .ldd = d.ld,
      .batch = batch,
      .stride_a = batch > 1 ? b.stride : 0,
      .stride_b = batch > 1 ? a.stride : 0,
      .stride_d = batch > 1 ? d.stride : 0};
  const Settings& s = settings();
  if (a.dtype == DType::f32 && s.allow_tf32) c.problem.compute = Compute::tf32;
  if (a.dtype == DType::f16) {
    if (s.fp16_accumulation && d.dtype == DType::f16) c.problem.compute = Compute::f16;
    if (!s.fp16_reduced) c.problem.reduction_mask = s.fp16_split_k ? 2 : 0;
  }
  if (a.dtype == DType::bf16 && !s.bf16_reduced) c.problem.reduction_mask = s.bf16_split_k ? 2 : 0;
  if (s.deterministic) c.problem.reduction_mask &= 2;  // partial sums are kept apart and added in a fixed order
  c.problem.sm_target = s.sm_carveout;
  c.buffers = GemmBuffers{.a = b.data, .b = a.data, .d = d.data};
  return c;
}

Tensor widened(const Tensor& t) {
  return t->device().is_cpu() && narrow(t->dtype()) && !(t->dtype() == DType::bf16 && bfloat16_dots())
             ? to_dtype(t, DType::f32)
             : t;
}
Tensor rounded(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }
Tensor operand(const Tensor& t, DType to) {
  return t->device().is_cpu() && narrow(t->dtype()) && to == DType::f32 ? to_dtype(t, to) : widened(t);
}
DType product_dtype(const Tensor& operand, DType to) {
  return narrow(operand->dtype()) && to == DType::f32 ? to : operand->dtype();
}
void zero(const Tensor& t) { fill_(t, Scalar{Scalar::Int, 0}); }

}  // namespace shim::gemm
