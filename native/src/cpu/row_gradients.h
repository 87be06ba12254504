#pragma once
// Layers over rows of CPU tensors with what their gradients need: norms, softmax, cross entropy.
#include "ops/kernel.h"

namespace shim {

// (input - mean) * rstd * weight + bias a row of `cols` elements. span: columns of one channel, with a weight each; 0: a weight a column.
// `groups` rows are a sample. Not centred: the mean is 0. Gives (output, mean, rstd), the last two in the compute dtype, one a row.
using NormWithMoments = std::tuple<Tensor, Tensor, Tensor>;
Outcome<NormWithMoments> norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    int64_t cols, int64_t span, int64_t groups, bool centred, double eps);
// The gradients of input, weight and bias; empty ones where they are not asked for.
using NormGradients = std::tuple<Tensor, Tensor, Tensor>;
Outcome<NormGradients> norm_backward(const Tensor& g, const Tensor& input, const OptionalTensor& weight,
    const Tensor& mean, const Tensor& rstd, int64_t cols, int64_t span, int64_t groups, bool centred, bool of_weight,
    bool of_bias);
// Over the last dims, which are `shape`; weight and bias of that shape and input's dtype.
Outcome<Tensor> layer_norm(const Tensor& input, IntArrayRef shape, const OptionalTensor& weight,
    const OptionalTensor& bias, double eps, Ignored cudnn_enable);
Outcome<Tensor> rms_norm(
    const Tensor& input, IntArrayRef shape, const OptionalTensor& weight, std::optional<double> eps);

Outcome<Tensor> softmax_backward(const Tensor& g, const Tensor& result, int64_t dim, bool log);  // over the last dim

// Of (rows, classes) logits and int64 targets; reduction 0: none, 1: mean, 2: sum. Raises IndexError for targets out of bounds. Gives
// (loss, log-softmax if kept, the weight of each row's target, the sum of these weights).
using CrossEntropy = std::tuple<Tensor, Tensor, Tensor, Tensor>;
Outcome<CrossEntropy> cross_entropy(const Tensor& logits, const Tensor& target, const OptionalTensor& weight,
    int64_t reduction, int64_t ignored, bool keep);
Outcome<Tensor> cross_entropy_backward(const Tensor& g, const Tensor& log_p, const Tensor& target,
    const Tensor& factors, const Tensor& total, int64_t reduction);
// The loss alone, of targets that are classes.
Outcome<Tensor> cross_entropy_loss(const Tensor& logits, const Tensor& target, const OptionalTensor& weight,
    int64_t reduction, int64_t ignored, double label_smoothing);

}  // namespace shim
