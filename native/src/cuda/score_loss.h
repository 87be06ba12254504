#pragma once
// Cross entropy of float16 or bfloat16 scores that is computed in float32, as of scores that were converted, and keeps no chances.
#include "ops/kernel.h"

namespace shim::cuda {

// Of scores (*, rows, classes) and int64 targets, one a row; reduction 0 none, 1 mean, 2 sum. The loss, what log_softmax subtracts
// of each row (rows, 2), each row's factor, and their total.
Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> cross_entropy_scores(
    const Tensor& x, const Tensor& target, int64_t reduction, int64_t ignored);
// The gradient, into `out` with rows as the scores', whose memory it may be.
Outcome<Tensor> put_slope(const Tensor& out, const Tensor& g, const Tensor& x, const Tensor& levels,
    const Tensor& target, const Tensor& factors, const Tensor& total, int64_t reduction);
Outcome<Tensor> cross_entropy_scores_backward(const Tensor& g, const Tensor& x, const Tensor& levels,
    const Tensor& target, const Tensor& factors, const Tensor& total, int64_t reduction);

}  // namespace shim::cuda
