#pragma once
// Losses of two tensors on CUDA, summed in one pass. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

enum class PointwiseLoss {
  mse,
  l1,
  smooth_l1,
  huber,
  bce,
  bce_with_logits
};  // `setting`: beta of smooth_l1, delta of huber

// Of two tensors of one shape and floating dtype: the sum, or with `mean` the mean.
Tensor pointwise_loss(PointwiseLoss, const Tensor& a, const Tensor& b, bool mean, double setting);
Tensor pointwise_loss_backward(
    PointwiseLoss, const Tensor& g, const Tensor& a, const Tensor& b, bool mean, double setting);  // by a

}  // namespace shim::cuda
