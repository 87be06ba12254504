#pragma once
// Connectionist temporal classification: the chances of all alignments of labels with steps, float32 or float64.
#include "core/tensor.h"

namespace shim {

// log_probs (steps, batch, classes); int64 targets (batch, labels), input_lengths and target_lengths (batch). The losses (batch), and in
// `alpha` (batch, steps, 2 labels + 1) the logarithms of the chances of all ways to each state. Null: not this kernel's.
Tensor alignments(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
    const Tensor& target_lengths, int64_t blank, Tensor* alpha);
// The gradient of log_probs as after log_softmax: their exponentials less the chance to be at a class then.
Tensor alignments_backward(const Tensor& g, const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
    const Tensor& target_lengths, const Tensor& losses, const Tensor& alpha, int64_t blank);

}  // namespace shim
