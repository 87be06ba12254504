#pragma once
// Tensors as BLAS operands. Transposed and padded views, folded leading dimensions and strided batches cost no copy.
#include "core/tensor.h"
#include "ops/gemm_problem.h"

namespace shim::gemm {

// A row-major matrix of rows x cols. Stored with `ld` elements between rows or, when `transposed`, between columns.
struct Matrix {
  Tensor holder;  // keeps a copy alive, where one was needed
  void* data = nullptr;
  DType dtype = DType::f32;
  int64_t rows = 0, cols = 0, ld = 1;
  bool transposed = false;
  int64_t batch = 1, stride = 0;  // `batch` matrices, `stride` elements apart (0: the same one)
};

Matrix matrix(const Tensor& t);    // 2-D
Matrix matrices(const Tensor& t);  // 3-D: a batch
Matrix flip(Matrix m);             // its transpose, without moving anything
// (..., K) as rows. Two groups of leading dimensions with a gap between stay a batch when `may_batch`; more are copied.
Matrix folded(const Tensor& t, bool may_batch);
Matrix row_vector(const Tensor& t);  // (K) as 1 x K

inline bool narrow(DType t) { return t == DType::f16 || t == DType::bf16; }
// The 16-bit floats are computed in float32 on the CPU and rounded once, at the end.
Tensor widened(const Tensor&);
Tensor rounded(const Tensor&, DType);
// An operand of a product in dtype `to`, and what that product is computed in: CUDA writes float32 of 16-bit operands.
Tensor operand(const Tensor&, DType to);
DType product_dtype(const Tensor& operand, DType to);
void zero(const Tensor&);

struct Call {
  GemmProblem problem;
  GemmBuffers buffers;
};
Call describe(const Matrix& a, const Matrix& b, const Matrix& d);  // d = a b

}  // namespace shim::gemm
