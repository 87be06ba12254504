#pragma once
// Losses of two tensors on CUDA, summed in one pass. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

enum class PairLoss { square, magnitude, smooth, huber, chance, logit };  // `setting`: the bound of smooth and huber

// Of two tensors of one shape and floating dtype: the sum, or with `mean` the mean.
Tensor pair_loss(PairLoss, const Tensor& a, const Tensor& b, bool mean, double setting);
Tensor pair_loss_backward(
    PairLoss, const Tensor& g, const Tensor& a, const Tensor& b, bool mean, double setting);  // by a

}  // namespace shim::cuda
