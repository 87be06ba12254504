#pragma once
// Reductions of CUDA tensors that need more than one pass or give indices, and running ones, as cpu/statistics.h and cpu/scan.h have them.
#include "ops/kernel.h"

namespace shim::cuda {

using OptionalDims = std::optional<IntArrayRef>;  // not given or empty: all

Outcome<Tensor> var(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim);
Outcome<Tensor> std_dev(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim);
using DeviationAndMean = std::tuple<Tensor, Tensor>;
Outcome<DeviationAndMean> var_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep);
Outcome<DeviationAndMean> std_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep);

Outcome<Tensor> count_nonzero(const Tensor& self, IntArrayRef dims);

Outcome<Tensor> argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Outcome<Tensor> argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Outcome<ValuesAndIndices> max_dim(const Tensor& self, int64_t dim, bool keepdim);
Outcome<ValuesAndIndices> min_dim(const Tensor& self, int64_t dim, bool keepdim);

Outcome<Tensor> logsumexp(const Tensor& self, IntArrayRef dims, bool keepdim);
// Of order 1, 2 or an infinity.
Outcome<Tensor> vector_norm(
    const Tensor& self, double order, OptionalDims dims, bool keepdim, std::optional<DType> dtype);

Outcome<Tensor> cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype);
Outcome<Tensor> cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype);
Outcome<Tensor> logcumsumexp(const Tensor& self, int64_t dim);
Outcome<ValuesAndIndices> cummax(const Tensor& self, int64_t dim);
Outcome<ValuesAndIndices> cummin(const Tensor& self, int64_t dim);

}  // namespace shim::cuda
