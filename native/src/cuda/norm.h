#pragma once
// Layer, root-mean-square and group norms on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

// x is rows of `cols` elements, contiguous. weight and bias, of x's dtype or null, have one element a column, or with `span` one a
// channel of that many neighbouring columns, `groups` rows being a sample. Means and reciprocal deviations are of the compute dtype.
struct Norm {
  Tensor x, weight, bias;
  int64_t cols = 1, span = 0, groups = 1;
  bool centred = true;
};
Tensor norm(const Norm&, double eps, Tensor* mean, Tensor* rstd);
// dx, and where asked for the gradients of weight and bias.
Tensor norm_backward(
    const Norm&, const Tensor& g, const Tensor& mean, const Tensor& rstd, Tensor* weight, Tensor* bias);

}  // namespace shim::cuda
