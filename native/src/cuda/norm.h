#pragma once
// Layer, root-mean-square and group norms on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// x is rows of `cols` elements, contiguous. weight and bias, of x's dtype or null, have one element a column, or with `span` one a
// channel of that many neighbouring columns, `groups` rows being a sample. Means and reciprocal deviations are of the compute dtype.
struct Norm {
  Tensor x, weight, bias;
  int64_t cols = 1, span = 0, groups = 1;
  bool centred = true;
};
// Null where there is no kernel for the case.
Tensor norm(const Norm&, double eps, Tensor* mean, Tensor* rstd);
// shim::norm: the result with each row's mean and reciprocal deviation; without a mean, the latter twice.
Outcome<std::tuple<Tensor, Tensor, Tensor>> norm_forward(const Tensor& input, const OptionalTensor& weight,
    const OptionalTensor& bias, int64_t cols, int64_t span, int64_t groups, bool centred, double eps);
// The gradients of input and, where asked for, of weight and bias, else empty tensors.
Outcome<std::tuple<Tensor, Tensor, Tensor>> norm_backward(const Tensor& g, const Tensor& input,
    const OptionalTensor& weight, const Tensor& mean, const Tensor& rstd, int64_t cols, int64_t span, int64_t groups,
    bool centred, bool of_weight, bool of_bias);

}  // namespace shim::cuda
