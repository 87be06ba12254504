#pragma once
// Layers over rows with what their gradients need: norms, softmax, cross entropy. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim {

struct RowNorm {
  Tensor input, weight, bias;              // weight and bias may be null
  int64_t cols = 0, span = 0, groups = 1;  // span: columns of one channel, with a weight each; 0: a weight a column
  bool centred = true;
};
// (input - mean) * rstd * weight + bias a row; `mean` and `rstd` in the compute dtype, where asked for.
Tensor row_norm(const RowNorm&, double eps, Tensor* mean, Tensor* rstd);
// By the input; `weight` and `bias`, where asked for, get theirs.
Tensor row_norm_backward(
    const RowNorm&, const Tensor& g, const Tensor& mean, const Tensor& rstd, Tensor* weight, Tensor* bias);

Tensor softmax_backward(const Tensor& g, const Tensor& result, bool log);  // over the last dim

struct CrossEntropy {
  Tensor log_p, factors, total;
};  // log-softmax, if kept; the weight of each row's target; the sum of these weights
// Of (rows, classes) logits and int64 targets; reduction 0: none, 1: mean, 2: sum. Raises IndexError for targets out of bounds.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight, int reduction, int64_t ignored,
    bool keep, CrossEntropy*);
Tensor cross_entropy_backward(const Tensor& g, const Tensor& target, const CrossEntropy&, int reduction);

}  // namespace shim
