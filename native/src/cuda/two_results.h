#pragma once
// Operators of two results on CUDA: frexp and aminmax; and quantiles of what was sorted.
#include <string_view>

#include "ops/kernel.h"

namespace shim::cuda {

Outcome<std::tuple<Tensor, Tensor>> frexp(const Tensor& self);
// The least and the greatest element, of all or along the last dim, which is left out or kept as 1.
Outcome<std::tuple<Tensor, Tensor>> aminmax(const Tensor& self, bool all, bool keepdim);
// (..., n) sorted along the last dim, NaN last -> (..., of q): at `at` where there is no q.
Outcome<Tensor> quantiles(
    const Tensor& sorted, const OptionalTensor& q, double at, bool skips_nan, std::string_view interpolation);

}  // namespace shim::cuda
