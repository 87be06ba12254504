// Pointwise formulas of plain arithmetic, and what runs all formulas.
#include "cpu/formulas.h"

#include <algorithm>
#include <cmath>

#include "cpu/formula_macros.h"

namespace shim {
namespace {

template <class T> T owned(T x, T least, T most) {
  T y = x < least ? least : x;
  return y > most ? most : y;
}  // NaN stays
template <class T> T size_of(T x) { return std::fabs(x); }

FORMULA3(Lerp, size_of(q) < T(0.5) ? x + q * (p - x) : p - (p - x) * (T(1) - q));
FORMULA4(Addcmul, x + r * p * q);
FORMULA4(Addcdiv, x + r * (p / q));
FORMULA1(Hardswish, x* owned(x + T(3), T(0), T(6)) / T(6));
FORMULA1(Hardsigmoid, owned(x + T(3), T(0), T(6)) / T(6));
FORMULA2(Prelu, x > T(0) ? x : x * p);
FORMULA2(Copysign, std::copysign(x, p));
FORMULA3(Threshold, x <= p ? q : x);
FORMULA3(Hardtanh, owned(x, p, q));
FORMULA2(Hardshrink, size_of(x) <= p ? T(0) : x);
FORMULA2(Softshrink, x > p ? x - p : x < -p ? x + p : x != x ? x : T(0));
FORMULA4(NanToNum, x != x ? p : size_of(x) < std::numeric_limits<T>::infinity() ? x : x > T(0) ? q : r);
FORMULA2(Largest, x != x ? x : p != p ? p : x > p ? x : p);
FORMULA2(Least, x != x ? x : p != p ? p : x < p ? x : p);
FORMULA3(OwnedRef, x != x ? x : p != p ? p : q != q ? q : owned(x, p, q));
FORMULA2(ReluSlope, p <= T(0) ? T(0) : x);  // x: the gradient, p: what was saved
FORMULA2(TanhSlope, x*(T(1) - p * p));
FORMULA2(SigmoidSlope, x*((T(1) - p) * p));
FORMULA3(LeakySlope, p > T(0) ? x : x * q);
FORMULA2(HardswishSlope, p <= T(-3) ? T(0) : p < T(3) ? x * (p / T(3) + T(0.5)) : x);
FORMULA3(SmoothL1, size_of(x - p) < q ? T(0.5) * (x - p) * (x - p) / q : size_of(x - p) - T(0.5) * q);
FORMULA3(Huber, size_of(x - p) <= q ? T(0.5) * (x - p) * (x - p) : q * (size_of(x - p) - T(0.5) * q));
FORMULA2(SquaredError, (x - p) * (x - p));
FORMULA2(AbsoluteError, size_of(x - p));
FORMULA2(Heaviside, x == T(0) ? p : x < T(0) ? T(0) : x > T(0) ? T(1) : T(0));
FORMULA1(Cube, x* x* x);
FORMULA1(InverseSquare, T(1) / (x * x));
FORMULA1(Itself, x);
FORMULA1(Angle, x != x ? x : x < T(0) ? T(3.14159265358979323846) : T(0));
FORMULA3(RoundTo, q == T(0) ? std::nearbyint(x * p) / p : std::nearbyint(x / q) * q);  // p: 10^digits, or q: 10^-digits

struct CubeInSteps {
  static float f(float x) { return rounded_bfloat16(x * x) * x; }
};
struct InverseSquareInSteps {
  static float f(float x) { return 1 / rounded_bfloat16(x * x); }
};
struct SigmoidSlopeInSteps {
  static float f(float g, float y) { return rounded_half(g * rounded_half(1 - y)) * y; }
};

constexpr PointwiseFormula kPlain[] = {
    formula_of<Lerp, 3, 0>("lerp"),
    formula_of<Addcmul, 3, 1>("addcmul"),
    formula_of<Addcdiv, 3, 1>("addcdiv"),
    formula_of<Hardswish, 1, 0>("hardswish"),
    formula_of<Hardsigmoid, 1, 0>("hardsigmoid"),
    formula_of<Prelu, 2, 0>("prelu"),
    formula_of<Prelu, 1, 1>("leaky_relu"),
    formula_of<Copysign, 2, 0>("copysign"),
    formula_of<Threshold, 1, 2>("threshold"),
    formula_of<Hardtanh, 1, 2>("hardtanh"),
    formula_of<Hardshrink, 1, 1>("hardshrink"),
    formula_of<Softshrink, 1, 1>("softshrink"),
    formula_of<NanToNum, 1, 3>("nan_to_num"),
    formula_of<Largest, 2, 0>("clamp_least"),
    formula_of<Least, 2, 0>("clamp_most"),
    formula_of<OwnedRef, 3, 0>("clamp_between"),
    formula_of<ReluSlope, 2, 0>("relu_backward"),
    formula_of<TanhSlope, 2, 0>("tanh_backward"),
    {"sigmoid_backward", 2, 0, formula_loop<SigmoidSlope, float, 2>, formula_loop<SigmoidSlope, double, 2>,
        formula_loop<SigmoidSlopeInSteps, float, 2>},
    formula_of<LeakySlope, 2, 1>("leaky_relu_backward"),
    formula_of<HardswishSlope, 2, 0>("hardswish_backward"),
    formula_of<SmoothL1, 2, 1>("smooth_l1"),
    formula_of<Huber, 2, 1>("huber"),
    formula_of<SquaredError, 2, 0>("squared_error"),
    formula_of<AbsoluteError, 2, 0>("absolute_error"),
    formula_of<Heaviside, 2, 0>("heaviside"),
    {"cube", 1, 0, formula_loop<Cube, float, 1>, formula_loop<Cube, double, 1>, nullptr,
        formula_loop<CubeInSteps, float, 1>},
    {"inverse_square", 1, 0, formula_loop<InverseSquare, float, 1>, formula_loop<InverseSquare, double, 1>, nullptr,
        formula_loop<InverseSquareInSteps, float, 1>},
    formula_of<Itself, 1, 0>("itself"),
    formula_of<Angle, 1, 0>("angle"),
    formula_of<RoundTo, 1, 2>("round_to"),
};

bool floating_input(const TensorImpl& t) { return t.device().is_cpu() && is_floating(t.dtype()) && t.itemsize() > 1; }

}  // namespace

std::span<const PointwiseFormula> plain_formulas() { return kPlain; }

const PointwiseFormula* pointwise_formula(std::string_view name) {
  for (auto part : {plain_formulas(), curved_formulas()})
    for (const PointwiseFormula& f : part)
      if (name == f.name) return &f;
  return nullptr;
}

Tensor run_formula(const PointwiseFormula& f, std::span<const TensorOrScalar> inputs, Tensor out) {
  const TensorImpl *like[kMaxOperands] = {}, *first = nullptr;
  int tensors = 0;
  Dims shape;
  for (const TensorOrScalar& i : inputs) {
    if (!i.tensor) continue;
    if (!floating_input(*i.tensor) || (first && i.tensor->dtype() != first->dtype())) return {};
    const IntArrayRef sizes = i.tensor->sizes();
    if (!first)
      shape.assign(sizes.begin(), sizes.end());
    else if (!std::ranges::equal(shape, sizes))
      shape = broadcast_shapes(shape, sizes);
    if (!first) first = i.tensor;
    like[tensors++] = i.tensor;
  }
  if (!first || int(inputs.size()) + 1 > kMaxOperands) return {};
  const DType t = first->dtype(), compute = compute_dtype(t);
  const BlockKernel kernel = compute == DType::f64        ? f.f64
                             : t == DType::f16 && f.f16   ? f.f16
                             : t == DType::bf16 && f.bf16 ? f.bf16
                                                          : f.f32;
  if (!kernel) return {};
  if (!out)
    out = allocate_like(shape, like, tensors, t);
  else if (out->dtype() != t || !std::ranges::equal(out->sizes(), shape))
    return {};
  Operand operands[kMaxOperands] = {Operand::of(*out)};
  alignas(16) char numbers[kMaxOperands][16];
  Tensor copies[kMaxOperands];
  int count = 1;
  for (const TensorOrScalar& i : inputs) {
    if (i.tensor) {
      const TensorImpl* from = i.tensor;
      if (clashes(*out, *from))
        copies[count] = clone(Tensor(const_cast<TensorImpl*>(from))), from = copies[count].get();
      operands[count++] = Operand::of(*from);
    } else {
      store_number(numbers[count], compute, i.number);
      operands[count] = {numbers[count], compute, {}, {}};
      ++count;
    }
  }
  if (out->numel()) run_blocks(out->sizes(), operands, count, compute, compute, kernel);
  return out;
}

}  // namespace shim
