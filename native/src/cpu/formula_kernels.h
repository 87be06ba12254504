#pragma once
// Kernels of CPU operators that are one pointwise formula: those of the tables, by their arguments' kinds, and others' special cases.
#include <array>

#include "cpu/formulas.h"
#include "ops/kernel.h"

namespace shim {

// The formula of self and `inputs`, of which self is the first; written to self where `in_place`.
Outcome<Tensor> formula_of_operands(
    const PointwiseFormula&, const Tensor& self, std::span<const TensorOrScalar> inputs, bool in_place);
// The same of float32 and float64 tensors alone: what others get is the records' to say.
Outcome<Tensor> formula_of_wide_floats(
    const PointwiseFormula&, const Tensor& self, std::span<const TensorOrScalar> inputs, bool in_place);

inline TensorOrScalar operand(const Tensor& t) { return {t.get(), {}}; }
inline TensorOrScalar operand(const TensorOrScalar& v) { return v; }
inline TensorOrScalar operand(Scalar n) { return {nullptr, n}; }

// An operator's kernel by the types of its arguments after self.
template <bool in_place, class... More>
Outcome<Tensor> formula_kernel(Registered<PointwiseFormula> f, const Tensor& self, More... more) {
  const TensorOrScalar inputs[] = {operand(self), operand(more)...};
  return formula_of_operands(*f, self, inputs, in_place);
}
template <bool in_place, class... More>
Outcome<Tensor> wide_formula_kernel(Registered<PointwiseFormula> f, const Tensor& self, More... more) {
  const TensorOrScalar inputs[] = {operand(self), operand(more)...};
  return formula_of_wide_floats(*f, self, inputs, in_place);
}

// The formula `name` of a gradient, what was saved, and as many of the numbers as it has: pointwise_backward.
Outcome<Tensor> formula_gradient(
    const Tensor& grad_output, const Tensor& saved, std::string_view name, double p, double q, double r);
// Of real floats to a number that is simpler than powers in general.
template <bool in_place> Outcome<Tensor> power(const Tensor& self, const TensorOrScalar& exponent);
template <bool in_place> Outcome<Tensor> logit(const Tensor& self, std::optional<double> eps);
// What rounding to so many decimals multiplies by and what it divides by, 0 for the one that it does not; none: too many.
std::optional<std::array<double, 2>> decimal_steps(int64_t decimals);
template <bool in_place> Outcome<Tensor> round_decimals(const Tensor& self, int64_t decimals);
Outcome<Tensor> polar(const Tensor& length, const Tensor& angle);  // of one shape

}  // namespace shim
