#pragma once
// Linear algebra of batches of matrices on the CPU, by LAPACK. A first result that is null: there is no LAPACK, or it is not a case
// for it (another dtype, nothing in the matrices, shapes that do not fit): the caller runs the record's body, which also says what
// is wrong. Results lie by columns, as PyTorch's do, unless said otherwise. `info` (int32, one a matrix) is LAPACK's: 0, or what failed.
#include "core/tensor.h"

namespace shim::linalg {

struct Two {
  Tensor first, second;
};
struct Three {
  Tensor first, second, third;
};

// solving.cpp
Three lu_factor(const Tensor& a);  // packed L and U, pivots from 1 (int32), info
Tensor lu_solve(
    const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);  // X a = b lies by rows
Two solve(const Tensor& a, const Tensor& b, bool left, bool vector);  // x (by rows for X a = b), info of each `a`
Two inverse(const Tensor& a);                                         // the inverse, info
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit);
Tensor determinant(const Tensor& a);
Tensor row_order(const Tensor& pivots, int64_t rows);  // where each row of the factors comes from, from 0 (int64)

// definite.cpp
Two cholesky(const Tensor& a, bool upper);  // the factor, info
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper);
Tensor cholesky_inverse(const Tensor& factor, bool upper);  // null too where a diagonal element is zero
Three ldl_factor(const Tensor& a, bool hermitian);          // packed L and D, pivots, info
Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);

// spectral.cpp
enum class QrMode { reduced, complete, r };
Two reflections(const Tensor& a);  // geqrf: R above reflections, their scales
Tensor householder_product(const Tensor& reflections, const Tensor& scales);
Tensor multiply_by_q(const Tensor& reflections, const Tensor& scales, const Tensor& other, bool left, bool adjoint);
Two qr(const Tensor& a, QrMode);                      // r: the first result is empty, not null
Two eigh(const Tensor& a, bool lower, bool vectors);  // null too where it does not converge
Three svd(const Tensor& a, bool full, bool vectors);  // without vectors only the second; null too for NaN and infinity

Two eig(const Tensor& a, bool vectors);  // complex; null too for NaN and infinity

// least_squares.cpp: the solution in the first rows of max(m, n), with gels' and gelss' and gelsd's residuals below it; ranks (none from
// gels); singular values (of gelsd and gelss). Null too where it fails.
enum class Driver { gels, gelsy, gelsd, gelss };
Three least_squares(const Tensor& a, const Tensor& b, double rcond, Driver);

}  // namespace shim::linalg
