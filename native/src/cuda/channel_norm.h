#pragma once
// Norms over channels and their statistics on CUDA. Each gives null where there is no kernel. Tensors are contiguous, of
// real floats.
#include "core/tensor.h"

namespace shim::cuda {

// The variance (or its root) of each of few long rows of contiguous x, and their mean unless it is null, into tensors of x's dtype.
bool variance_of_rows(const Tensor& x, double correction, bool root, const Tensor& mean, const Tensor& variance);
// (batch, channels, ...): by the given mean and variance, or by the batch's where they are null, which then get them.
Tensor channel_norm(
    const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor* mean, Tensor* variance);
struct ChannelSlopes {
  Tensor input, weight, bias;
};
ChannelSlopes channel_norm_backward(const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& mean,
    const Tensor& variance, double eps, bool of_batch);

// Running statistics of one size and dtype, contiguous, move toward those of a batch (of the compute dtype): (1 - momentum) running + momentum own,
// the variance times `factor`. False where there is no kernel for them.
bool track(const Tensor& to_mean, const Tensor& to_variance, const Tensor& mean, const Tensor& variance,
    double momentum, double factor);

}  // namespace shim::cuda
