#pragma once
// ctc_loss (connectionist temporal classification) on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// log_p (steps, batch, classes), float32 or float64; targets (batch, most), lengths (batch,), int64: the losses (batch,), and alpha
// (batch, steps, 2 * most + 1) for the gradient, which is that of log_softmax followed by the loss, as PyTorch's is.
Outcome<std::tuple<Tensor, Tensor>> ctc_loss(
    const Tensor& log_p, const Tensor& targets, const Tensor& inputs, const Tensor& lengths, int64_t blank);
Outcome<Tensor> ctc_loss_backward(const Tensor& g, const Tensor& log_p, const Tensor& targets, const Tensor& inputs,
    const Tensor& lengths, const Tensor& loss, const Tensor& alpha, int64_t blank);

}  // namespace shim::cuda
