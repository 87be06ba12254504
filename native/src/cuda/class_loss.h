#pragma once
// nll_loss, multi_margin_loss and multilabel_margin_loss on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// As PyTorch numbers reductions: 0 none, 1 the mean, 2 the sum. Scores x (outer, classes, ...), targets (outer, ...) int64; weights, one a class.
// The losses, and the sum of the weights that counted, of the compute dtype; nothing in particular where nothing is reduced.
Outcome<std::tuple<Tensor, Tensor>> nll_loss(
    const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction, int64_t ignored);
// The losses of targets of the scores' shape without its classes.
Outcome<Tensor> nll_loss_nd(
    const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction, int64_t ignored);
Outcome<Tensor> nll_loss_backward(const Tensor& g, const Tensor& target, const OptionalTensor& weight,
    const Tensor& total, IntArrayRef sizes, int64_t reduction, int64_t ignored);
// Hinge losses against the target's score; x (rows, classes), targets (rows,), p 1 or 2.
Outcome<Tensor> margin_loss(
    const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t p, double margin, int64_t reduction);
Outcome<Tensor> margin_loss_backward(const Tensor& g, const Tensor& x, const Tensor& target,
    const OptionalTensor& weight, int64_t p, double margin, int64_t reduction);
// Of several targets a row: x and the int64 targets (rows, classes), a row's list ended by a negative one.
Outcome<Tensor> multilabel_loss(const Tensor& x, const Tensor& target, int64_t reduction);
Outcome<Tensor> multilabel_loss_backward(const Tensor& g, const Tensor& x, const Tensor& target, int64_t reduction);

}  // namespace shim::cuda
