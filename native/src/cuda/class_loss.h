#pragma once
// nll_loss, multi_margin_loss and multilabel_margin_loss on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

// As PyTorch numbers reductions: 0 none, 1 the mean, 2 the sum. Scores x (outer, classes, ...), targets (outer, ...) int64; weights, one a class, may
// be null. `total` gets the sum of the weights that counted, of the compute dtype, unless nothing is reduced.
Tensor nll_loss(
    const Tensor& x, const Tensor& target, const Tensor& weight, int reduction, int64_t ignored, Tensor* total);
Tensor nll_loss_backward(const Tensor& g, const Tensor& target, const Tensor& weight, const Tensor& total,
    IntArrayRef sizes, int reduction, int64_t ignored);
// Hinge losses against the target's score; x (rows, classes), targets (rows,), p 1 or 2.
Tensor margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int p, double margin, int reduction);
Tensor margin_loss_backward(
    const Tensor& g, const Tensor& x, const Tensor& target, const Tensor& weight, int p, double margin, int reduction);
// Of several targets a row: x and the int64 targets (rows, classes), a row's list ended by a negative one.
Tensor multilabel_loss(const Tensor& x, const Tensor& target, int reduction);
Tensor multilabel_loss_backward(const Tensor& g, const Tensor& x, const Tensor& target, int reduction);

}  // namespace shim::cuda
