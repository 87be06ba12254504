#pragma once
// Products with at most 16 rows on kernels of our own, each operand read once: candidates beside cuBLASLt's algorithms, and
// all gradients of a linear layer in one launch.
#include "core/tensor.h"
#include "cuda/driver.h"
#include "gemm/operands.h"

namespace shim::gemm {

constexpr int64_t kSkinnyRows = 16;

enum class Skinny : uint8_t { none, forward, input, weight };
// Which of the kernels computes this problem; none: dtypes, layout or alignment do not fit.
Skinny skinny_kind(const GemmProblem&, const GemmBuffers&);
bool skinny_run(Skinny, int device, const GemmProblem&, const GemmBuffers&, cuda::CUstream);

// dx = dy w, dw = dy^T x and db (null data or null: not wanted) of at most 16 rows dy, in one launch; dx and dw are results of
// matching sizes, row-major; with `add`, dw's are added to what it holds. False, and nothing launched, where something does not fit.
bool skinny_gradients(int device, const Matrix& dy, const Matrix& x, const Matrix& w, const Matrix& dx,
    const Matrix& dw, void* db, bool add);

}  // namespace shim::gemm
