#pragma once
// Linear algebra of batches of matrices on the CPU, by LAPACK. What it does not serve (another dtype, nothing in the matrices, shapes that
// do not fit) is the record's body's, which also says what is wrong; with `check_errors` that is so where `info` tells of a failure too.
// Results lie by columns, as PyTorch's do, unless said otherwise. `info` (int32, one a matrix) is LAPACK's: 0, or what failed.
#include "ops/kernel.h"

namespace shim::linalg {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// solving.cpp
Outcome<Three> lu_factor(
    const Tensor& a, bool pivot, bool check_errors);  // packed L and U, pivots from 1 (int32), info
Outcome<Tensor> lu_solve(
    const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);  // X a = b lies by rows
// x (by rows for X a = b), info of each `a`. b: matrices, or vectors, one or as many as matrices `a`.
Outcome<Two> solve(const Tensor& a, const Tensor& b, bool left, bool check_errors);
Outcome<Two> inverse(const Tensor& a, bool check_errors);  // the inverse, info
Outcome<Tensor> solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit);
Outcome<Tensor> determinant(const Tensor& a);
Outcome<Tensor> row_order(const Tensor& pivots, int64_t rows);  // where factors' rows come from, from 0 (int64)

// definite.cpp
Outcome<Two> cholesky(const Tensor& a, bool upper, bool check_errors);  // the factor, info
Outcome<Tensor> cholesky_solve(const Tensor& b, const Tensor& factor, bool upper);
Outcome<Tensor> cholesky_inverse(const Tensor& factor, bool upper);
Outcome<Three> ldl_factor(const Tensor& a, bool hermitian, bool check_errors);  // packed L and D, pivots, info
Outcome<Tensor> ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);

// spectral.cpp
Outcome<Two> reflections(const Tensor& a);  // geqrf: R above reflections, their scales
Outcome<Tensor> householder_product(const Tensor& reflections, const Tensor& scales);
Outcome<Tensor> multiply_by_q(
    const Tensor& reflections, const Tensor& scales, const Tensor& other, bool left, bool adjoint);
Outcome<Two> qr(const Tensor& a, std::string_view mode);        // "reduced", "complete", or "r", whose Q is empty
Outcome<Two> eigh(const Tensor& a, std::string_view triangle);  // "L" or "U": values, vectors
Outcome<Tensor> eigvalsh(const Tensor& a, std::string_view triangle);
Outcome<Three> svd(const Tensor& a, bool full, std::optional<std::string_view> driver);  // not of NaN and infinity
Outcome<Tensor> singular_values(const Tensor& a);
Outcome<Two> eig(const Tensor& a);  // complex; not of NaN and infinity
Outcome<Tensor> eigvals(const Tensor& a);

// least_squares.cpp: the solution in the first rows of max(m, n), with gels' and gelss' and gelsd's residuals below it; ranks (none from
// gels); singular values (of gelsd and gelss). `driver`: "gels", "gelsd", "gelss", or others for gelsy.
Outcome<Three> least_squares(const Tensor& a, const Tensor& b, double rcond, std::string_view driver);

}  // namespace shim::linalg
