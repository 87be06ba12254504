#pragma once
// Norms over channels and their statistics on CUDA, of real floats.
#include "ops/kernel.h"

namespace shim::cuda {

// The variance (or its root) of each of few long rows of contiguous x, and their mean unless it is null, into tensors of x's dtype.
bool variance_of_rows(const Tensor& x, double correction, bool root, const Tensor& mean, const Tensor& variance);
// Of (batch, channels, ...): the result, mean and variance, which are those given or, with `of_batch`, the batch's own.
Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm(const Tensor& input, const OptionalTensor& weight,
    const OptionalTensor& bias, const OptionalTensor& mean, const OptionalTensor& variance, bool of_batch, double eps);
// The gradients of input, weight and bias; the latter two of the dtype of sums.
Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm_backward(const Tensor& g, const Tensor& input,
    const OptionalTensor& weight, const Tensor& mean, const Tensor& variance, double eps, bool of_batch);

// Running statistics of one size and dtype, contiguous, move toward those of a batch (of the compute dtype): (1 - momentum) running + momentum own,
// the variance times `factor`. False where there is no kernel for them.
bool track(const Tensor& to_mean, const Tensor& to_variance, const Tensor& mean, const Tensor& variance,
    double momentum, double factor);

}  // namespace shim::cuda
