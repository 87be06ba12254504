#pragma once
// Kernels along a dimension on CUDA: the gradient of softmax, cross entropy, argmax and argmin, variance, logsumexp. Null where there is no
// kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

// The gradient of (log_)softmax over the last dimension from its result.
Tensor softmax_backward(const Tensor& g, const Tensor& result, bool log);

// Of logits (rows, cols) and int64 targets; reduction 0 none, 1 mean, 2 sum. `parts` gets what backward needs, log_p = log_softmax(x)
// only with `keep` (as PyTorch, which saves no logits: they may be written to before backward).
struct CrossEntropy {
  Tensor log_p, factors, total;
};
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int reduction, int64_t ignored,
    bool keep, CrossEntropy* parts);
Tensor cross_entropy_backward(const Tensor& g, const Tensor& target, const CrossEntropy& parts, int reduction);

// As cpu/statistics.h has them.
Tensor arg_extreme(bool largest, const Tensor& self, int64_t dim, bool all, bool keepdim, Tensor* values);
Tensor variance(const Tensor& self, IntArrayRef dims, bool keepdim, double correction, bool root,
    Tensor* mean);                                                       // over the last dimensions
Tensor log_sum_exp(const Tensor& self, IntArrayRef dims, bool keepdim);  // the same
Tensor triangle(const Tensor& self, int64_t diagonal, bool upper);

}  // namespace shim::cuda
