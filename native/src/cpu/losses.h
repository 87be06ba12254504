#pragma once
// Losses in one pass, without what gradients need.
#include "cpu/formulas.h"

namespace shim {

enum class Mean : uint8_t { none, mean, sum };  // as PyTorch numbers its reductions

// Of rows of logarithms of chances, float32 or float64, and int64 places; an IndexError for a place that is none. Null: not this kernel's.
Tensor nll_loss(const Tensor& log_p, const Tensor& target, const Tensor& weight, Mean, int64_t ignored);
bool chances_only(const Tensor&);  // float32 or float64 between 0 and 1, no NaN
// A formula of two contiguous tensors of one shape, float32 or float64, and perhaps a number, averaged or added up.
Tensor formula_loss(const PointwiseFormula&, const Tensor& x, const Tensor& target, const double* number, Mean);

}  // namespace shim
