#include "cpu/formula_kernels.h"

#include <algorithm>
#include <cmath>

#include "autograd/autograd.h"
#include "cpu/parallel.h"

namespace shim {
namespace {

constexpr NotMine kNoFormula{"dtypes other than one of real floats"};

bool wide_floats(const TensorImpl& t) { return t.dtype() == DType::f32 || t.dtype() == DType::f64; }

// f(out), without the interpreter's lock; `out` is self or null, for a new tensor.
template <bool in_place, class F> Outcome<Tensor> written(const Tensor& self, NotMine otherwise, F&& f) {
  const Tensor found = unlocked(self->numel(), [&] { return f(in_place ? self : Tensor{}); });
  if (!found) return otherwise;
  return in_place ? self : found;
}

template <bool in_place>
Outcome<Tensor> with_numbers(const PointwiseFormula& f, const Tensor& self, double p, double q) {
  const TensorOrScalar inputs[] = {operand(self), {nullptr, {Scalar::Float, 0, p}}, {nullptr, {Scalar::Float, 0, q}}};
  return written<in_place>(self, kNoFormula, [&](const Tensor& out) { return run_formula(f, inputs, out); });
}

// The kernel of x ** exponent where it is simpler than powers in general.
Tensor simple_power(const Tensor& x, double exponent, const Tensor& out) {
  static const PointwiseFormula &cube = *pointwise_formula("cube"),
                                &inverse_square = *pointwise_formula("inverse_square"),
                                &itself = *pointwise_formula("itself");
  static const PointwiseOp &square = *unary_op("square"), &root = *unary_op("sqrt"), &inverse_root = *unary_op("rsqrt"),
                           &inverse = *unary_op("reciprocal");
  const TensorOrScalar inputs[1] = {operand(x)};
  if (exponent == 2) return run_unary(square, x, out);
  if (exponent == 0.5) return run_unary(root, x, out);
  if (exponent == -0.5) return run_unary(inverse_root, x, out);
  if (exponent == -1) return run_unary(inverse, x, out);
  const PointwiseFormula* f = exponent == 3    ? &cube
                              : exponent == -2 ? &inverse_square
                              : exponent == 1  ? &itself
                                               : nullptr;
  return f ? run_formula(*f, inputs, out) : Tensor{};
}

// The same of complex numbers: products and quotients, exact where these are.
Tensor simple_complex_power(const Tensor& x, double exponent, const Tensor& out) {
  static const PointwiseOp &times = *binary_op("mul"), &over = *binary_op("div");
  const TensorOrScalar self = operand(x), one{nullptr, {Scalar::Float, 0, 1}};
  if (exponent == 0 || exponent == 1) {
    const Tensor found = out ? out : clone(x);
    if (exponent == 0) fill_(found, one.number);
    return found;
  }
  if (exponent == 2) return run_binary(times, self, self, out);
  if (exponent == 3) return run_binary(times, operand(run_binary(times, self, self)), self, out);
  if (exponent == -1) return run_binary(over, one, self, out);
  if (exponent == -2) return run_binary(over, one, operand(run_binary(times, self, self)), out);
  return {};
}

}  // namespace

Outcome<Tensor> formula_of_operands(
    const PointwiseFormula& f, const Tensor& self, std::span<const TensorOrScalar> inputs, bool in_place) {
  for (const TensorOrScalar& i : inputs)
    if (!i.tensor && i.number.type == Scalar::Complex) return NotMine{"a complex number"};
  if (std::string_view(f.name) == "softshrink" && !(inputs[1].number.to_double() >= 0))
    return NotMine{"a lambd below zero, which PyTorch refuses"};
  const auto run = [&](const Tensor& out) { return run_formula(f, inputs, out); };
  return in_place ? written<true>(self, kNoFormula, run) : written<false>(self, kNoFormula, run);
}

Outcome<Tensor> formula_of_wide_floats(
    const PointwiseFormula& f, const Tensor& self, std::span<const TensorOrScalar> inputs, bool in_place) {
  for (const TensorOrScalar& i : inputs) {
    if (!i.tensor) return NotMine{"a number in a tensor's place"};
    if (!wide_floats(*i.tensor)) return NotMine{"dtypes other than float32 and float64"};
    if (i.tensor->dtype() != self->dtype()) return NotMine{"dtypes that differ"};
  }
  return formula_of_operands(f, self, inputs, in_place);
}

Outcome<Tensor> formula_gradient(
    const Tensor& g, const Tensor& saved, std::string_view name, double p, double q, double r) {
  const PointwiseFormula* f = pointwise_formula(name);
  if (!f || f->tensors != 2) return NotMine{"no formula of two tensors"};
  const auto number = [](double v) { return TensorOrScalar{nullptr, {Scalar::Float, 0, v}}; };
  const TensorOrScalar inputs[5] = {operand(g), operand(saved), number(p), number(q), number(r)};
  return written<false>(
      g, kNoFormula, [&](const Tensor&) { return run_formula(*f, std::span(inputs, size_t(2 + f->numbers))); });
}

template <bool in_place> Outcome<Tensor> power(const Tensor& self, const TensorOrScalar& exponent) {
  const Scalar& n = exponent.number;
  if (!exponent.tensor && n.type != Scalar::Bool && n.imag == 0 &&
      (self->dtype() == DType::c64 || self->dtype() == DType::c128))
    return written<in_place>(
        self, kAnothers, [&](const Tensor& out) { return simple_complex_power(self, n.to_double(), out); });
  if (exponent.tensor || !is_floating(self->dtype()) || self->itemsize() == 1 || n.type == Scalar::Complex ||
      n.type == Scalar::Bool)
    return kAnothers;
  return written<in_place>(self, kAnothers, [&](const Tensor& out) { return simple_power(self, n.to_double(), out); });
}
template Outcome<Tensor> power<false>(const Tensor&, const TensorOrScalar&);
template Outcome<Tensor> power<true>(const Tensor&, const TensorOrScalar&);

template <bool in_place> Outcome<Tensor> logit(const Tensor& self, std::optional<double> eps) {
  static const PointwiseFormula& formula = *pointwise_formula("logit_of");
  const DType t = self->dtype();
  if (!is_floating(t)) return kNoFormula;
  const auto rounded = [&](double v) {  // the ends are of x's own precision
    alignas(16) char element[16];
    store_number(element, t, Scalar{Scalar::Float, 0, v});
    return load_as_double(element, t);
  };
  const double least = eps.value_or(-1);
  return with_numbers<in_place>(formula, self, rounded(least), rounded(1 - least));
}
template Outcome<Tensor> logit<false>(const Tensor&, std::optional<double>);
template Outcome<Tensor> logit<true>(const Tensor&, std::optional<double>);

std::optional<std::array<double, 2>> decimal_steps(int64_t decimals) {
  if (decimals < -30 || decimals > 30) return std::nullopt;
  const double power = std::pow(10.0, double(std::abs(decimals)));
  return std::array{decimals < 0 ? 0.0 : power, decimals < 0 ? power : 0.0};
}

template <bool in_place> Outcome<Tensor> round_decimals(const Tensor& self, int64_t decimals) {
  static const PointwiseFormula& formula = *pointwise_formula("round_to");
  const auto steps = decimal_steps(decimals);
  if (!steps) return NotMine{"more than 30 decimals"};
  return with_numbers<in_place>(formula, self, (*steps)[0], (*steps)[1]);
}
template Outcome<Tensor> round_decimals<false>(const Tensor&, int64_t);
template Outcome<Tensor> round_decimals<true>(const Tensor&, int64_t);

Outcome<Tensor> polar(const Tensor& length, const Tensor& angle) {
  if (!wide_floats(*length) || angle->dtype() != length->dtype())
    return NotMine{"dtypes other than float32 and float64, or two of them"};
  if (!std::ranges::equal(length->sizes(), angle->sizes()) || !length->is_contiguous() || !angle->is_contiguous())
    return NotMine{"tensors that are not contiguous or of two shapes"};
  if (!is_plain(length) || !is_plain(angle)) return NotMine{"tensors without values of their own"};
  static const PointwiseOp &cosine = *unary_op("cos"), &sine = *unary_op("sin"), &times = *binary_op("mul");
  const Tensor out = empty(length->sizes(), length->dtype() == DType::f32 ? DType::c64 : DType::c128, Device{});
  return unlocked(length->numel(), [&] {
    const Tensor parts = view_as_real(*out);
    run_binary(times, operand(length), operand(run_unary(cosine, angle)), select(*parts, -1, 0));
    run_binary(times, operand(length), operand(run_unary(sine, angle)), select(*parts, -1, 1));
    return out;
  });
}

}  // namespace shim
