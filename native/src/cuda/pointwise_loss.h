#pragma once
// Losses of two tensors on CUDA, summed in one pass.
#include "ops/kernel.h"

namespace shim::cuda {

// "mse", "l1", "smooth_l1", "huber", "bce" or "bce_with_logits" of two tensors of one shape and floating dtype: the sum, or with `mean`
// the mean. `setting`: beta of smooth_l1, delta of huber.
Outcome<Tensor> pointwise_loss(const Tensor& a, const Tensor& b, std::string_view name, bool mean, double setting);
Outcome<Tensor> pointwise_loss_backward(
    const Tensor& g, const Tensor& a, const Tensor& b, std::string_view name, bool mean, double setting);  // by a

}  // namespace shim::cuda
