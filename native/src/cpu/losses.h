#pragma once
// Losses of CPU tensors in one pass, without what gradients need. `reduction` as PyTorch numbers it: 0 none, 1 mean, 2 sum.
#include "cpu/formulas.h"
#include "ops/kernel.h"

namespace shim {

// Of rows of logarithms of chances, float32 or float64, and int64 places; an IndexError for a place that is none.
Outcome<Tensor> nll_loss(
    const Tensor& log_p, const Tensor& target, const OptionalTensor& weight, int64_t reduction, int64_t ignored);
// A formula of two tensors, and perhaps a number above 0. Averaged or added up: of contiguous ones of one shape, float32 or float64.
Outcome<Tensor> formula_loss(Registered<PointwiseFormula>, const Tensor& self, const Tensor& target, int64_t reduction);
Outcome<Tensor> formula_loss_with_number(
    Registered<PointwiseFormula>, const Tensor& self, const Tensor& target, int64_t reduction, double number);
// Of each element: the binary cross entropy of float32 or float64 chances, all from 0 to 1.
Outcome<Tensor> binary_cross_entropy_each(const Tensor& self, const Tensor& target);

}  // namespace shim
