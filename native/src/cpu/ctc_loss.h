#pragma once
// ctc_loss (connectionist temporal classification, Graves and others, 2006) and its gradient, float32 or float64, of CPU tensors.
#include "ops/kernel.h"

namespace shim {

// log_probs (steps, batch, classes); int64 targets (batch, labels), input_lengths and target_lengths (batch). The losses (batch), and in
// alpha (batch, steps, 2 labels + 1) the log-probabilities of the paths to each state.
using CtcLossAndAlpha = std::tuple<Tensor, Tensor>;
Outcome<CtcLossAndAlpha> ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
    const Tensor& target_lengths, int64_t blank);
// The gradient of log_probs as after log_softmax: their exponentials less the probability of each class at that step.
Outcome<Tensor> ctc_loss_backward(const Tensor& g, const Tensor& log_probs, const Tensor& targets,
    const Tensor& input_lengths, const Tensor& target_lengths, const Tensor& losses, const Tensor& alpha,
    int64_t blank);

}  // namespace shim
