#pragma once
// Kernels along a dimension on CUDA: the gradient of softmax, cross entropy, argmax and argmin, variance, logsumexp. Null where there is no
// kernel for the case.
#include "ops/kernel.h"

namespace shim::cuda {

// The gradient of (log_)softmax over the last dimension from its result.
Outcome<Tensor> softmax_backward(const Tensor& g, const Tensor& result, int64_t dim, bool log);

// Of logits (rows, cols) and int64 targets; reduction 0 none, 1 mean, 2 sum. The loss, and what backward needs:
// log_softmax(x), empty without `keep` (as PyTorch, which saves no logits: they may be written to before backward), each
// row's factor, and their total.
Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> cross_entropy(
    const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction, int64_t ignored, bool keep);
Outcome<Tensor> cross_entropy_backward(const Tensor& g, const Tensor& log_p, const Tensor& target,
    const Tensor& factors, const Tensor& total, int64_t reduction);

// As cpu/statistics.h has them.
Tensor arg_extreme(bool largest, const Tensor& self, int64_t dim, bool all, bool keepdim, Tensor* values);
Tensor variance(const Tensor& self, IntArrayRef dims, bool keepdim, double correction, bool root,
    Tensor* mean);  // over dimensions side by side
Tensor log_sum_exp(const Tensor& self, IntArrayRef dims, bool keepdim);
// As cpu/creation.h has it, over ints.
Outcome<Tensor> arange(IntOrFloat start, IntOrFloat end, IntOrFloat step, std::optional<DType>, Ignored layout,
    std::optional<Device>, std::optional<bool> pin_memory);
Outcome<Tensor> triangle(const Tensor& self, int64_t diagonal, bool upper);

}  // namespace shim::cuda
