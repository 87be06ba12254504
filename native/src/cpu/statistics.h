#pragma once
// Reductions of CPU tensors that need more than one pass or give indices. No dims, or none given: over all of them.
#include "ops/kernel.h"

namespace shim {

using OptionalDims = std::optional<IntArrayRef>;

// Variance and standard deviation, in double. `correction` is 1 where it is not given.
Outcome<Tensor> var(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim);
Outcome<Tensor> std_dev(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim);
using DeviationAndMean = std::tuple<Tensor, Tensor>;
Outcome<DeviationAndMean> var_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep);
Outcome<DeviationAndMean> std_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep);

// Indices (int64) of the largest or smallest, the first NaN before all; without a dim, of the flattened tensor.
Outcome<Tensor> argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Outcome<Tensor> argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Outcome<ValuesAndIndices> max_dim(const Tensor& self, int64_t dim, bool keepdim);
Outcome<ValuesAndIndices> min_dim(const Tensor& self, int64_t dim, bool keepdim);

Outcome<Tensor> logsumexp(const Tensor& self, IntArrayRef dims, bool keepdim);
Outcome<Tensor> count_nonzero(const Tensor& self, IntArrayRef dims);
// The Euclidean norm of floating tensors.
Outcome<Tensor> vector_norm(
    const Tensor& self, double order, OptionalDims dims, bool keepdim, std::optional<DType> dtype);

}  // namespace shim
