#pragma once
// Our own CUDA kernels around matrix products. Each gives false where it cannot be had (no NVRTC, no GPU) or does not fit.
#include "cuda/driver.h"
#include "ops/linear.h"
#include "gemm/operands.h"

namespace shim::gemm {

// db[n] = sum over rows of dy (row-major, not a batch); deterministic.
bool column_sums(Device, const Matrix& dy, void* db);
// dz = dy act'(kept), and with `db` its column sums in the same launch.
bool activation_slope(Device, Activation, const Matrix& dy, const Matrix& kept, const Matrix& dz, void* db);
// y = act(z); y may be z.
bool activate(Device, Activation, const Matrix& z, const Matrix& y);
// y = a b^T, each element rounded once.
struct Vector {
  const void* data = nullptr;
  int64_t step = 1;
};
bool outer_product(Device, const Vector& a, const Vector& b, const Matrix& y);
// y = x w^T + bias for one or two rows of x (skinny.h says what fits).
bool one_or_two_rows(int device, const GemmProblem&, const GemmBuffers&, cuda::CUstream);

}  // namespace shim::gemm
