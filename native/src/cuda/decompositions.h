#pragma once
// Decompositions of batches of small real matrices on CUDA, one kernel each, a block a matrix; others are the records' bodies'.
// Results lie by columns, or by rows for X a = b; `info` (int32) is LAPACK's, one a matrix.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<std::tuple<Tensor, Tensor>> cholesky(const Tensor& a, bool upper, bool check_errors);  // the factor, info
Outcome<std::tuple<Tensor, Tensor>> solve(const Tensor& a, const Tensor& b, bool left, bool check_errors);
Outcome<std::tuple<Tensor, Tensor>> inverse(const Tensor& a, bool check_errors);
// Waits for the device: matrices without full rank or with numbers that are none are another's.
Outcome<std::tuple<Tensor, Tensor, Tensor>> svd(const Tensor& a, bool full, std::optional<std::string_view> driver);

}  // namespace shim::cuda
