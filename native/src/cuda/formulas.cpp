#include "cuda/formulas.h"

#include <algorithm>

#include "cpu/formula_kernels.h"
#include "cuda/launch.h"
#include "cuda/reasons.h"

namespace shim::cuda {
namespace {

// Whether writing `out` could change what is still to be read of `in`.
bool overlaps(const TensorImpl& out, const TensorImpl& in) {
  const char *a = static_cast<const char*>(out.data()), *b = static_cast<const char*>(in.data());
  if (a >= b + storage_bytes(in.sizes(), in.strides(), in.itemsize()) ||
      b >= a + storage_bytes(out.sizes(), out.strides(), out.itemsize()))
    return false;
  return a != b || !std::ranges::equal(out.sizes(), in.sizes()) || !std::ranges::equal(out.strides(), in.strides());
}

}  // namespace

Outcome<Tensor> formula(
    const char* op, std::span<const TensorOrScalar> inputs, const double (&extra)[3], Tensor out, Whole whole) {
  const TensorImpl* like[3] = {};
  const TensorImpl* first = nullptr;
  int tensors = 0;
  Dims shape;
  Promotion promoted;
  for (const TensorOrScalar& i : inputs) {
    if (!i.tensor && i.number.type == Scalar::Complex) return NotMine{"a complex number"};
    if (!i.tensor) {
      promoted.add(i.number);
      continue;
    }
    const DType t = i.tensor->dtype();
    if (!floating(t) && (whole == Whole::declined || !is_integral(t, true)) &&
        !(is_complex(t) && functor_of(op)->complex))
      return kOtherDtype;
    promoted.add(*i.tensor);
    if (whole != Whole::declined && is_cpu_scalar(*i.tensor)) continue;
    if (!first) first = i.tensor;
    if (whole == Whole::declined && t != first->dtype()) return kMixedDtypes;
    if (i.tensor->device() != first->device()) return kMixedDevices;
    shape =
        tensors ? broadcast_shapes(shape, i.tensor->sizes()) : Dims(i.tensor->sizes().begin(), i.tensor->sizes().end());
    like[tensors++] = i.tensor;
  }
  if (!first) return NotMine{"numbers alone"};
  DType t = whole == Whole::declined ? first->dtype() : promoted.result();
  if (whole == Whole::to_float && is_integral(t, true)) t = default_dtype();
  if (t == DType::b8) return kOtherDtype;
  const DType compute = cuda::compute_dtype(t);
  if (!out) {
    out = allocate_like(shape, like, tensors, t, first->device());
  } else {
    if (out->dtype() != t) return kMixedDtypes;
    if (!std::ranges::equal(out->sizes(), shape)) return kOtherSizes;
    for (int k = 0; k < tensors; ++k)
      if (overlaps(*out, *like[k])) return NotMine{"operands that overlap the result"};
  }
  if (out->numel() == 0) return out;
  Elementwise e{op, compute, compute, 1, {Operand::of(*out)}};
  alignas(16) char numbers[3][16] = {};
  for (const TensorOrScalar& i : inputs) {
    const bool here = i.tensor && is_cpu_scalar(*i.tensor);
    if (i.tensor && !here) {
      e.operands[e.count++] = Operand::of(*i.tensor);
      continue;
    }
    store_number(numbers[e.count - 1], compute, here ? item(Tensor(const_cast<TensorImpl*>(i.tensor))) : i.number);
    e.operands[e.count] = {numbers[e.count - 1], compute, {}, {}};
    e.numbers[e.count++] = true;
  }
  std::copy(extra, extra + 3, e.extra);
  if (!run_elementwise(e, out->sizes(), out->device().index)) return kNotCompiled;
  return out;
}

Outcome<Tensor> formula_of(
    const Functor& f, std::span<const TensorOrScalar> inputs, std::span<const double> extra, Tensor out) {
  if (std::string_view(f.op) == "softshrink" && !(extra[0] >= 0))
    return NotMine{"a negative lambd, which PyTorch refuses"};
  double numbers[3] = {};
  std::ranges::copy(extra, numbers);
  return formula(f.op, inputs, numbers, std::move(out), f.whole);
}

Outcome<Tensor> clamp_tensors(
    const Tensor& self, std::optional<TensorOrScalar> min, std::optional<TensorOrScalar> max) {
  static const PointwiseOp &largest = *binary_op("maximum"), &least = *binary_op("minimum");
  static const Functor& between = *functor_of("clamp_between");
  const TensorOrScalar x{self.get(), {}};
  if (!min && !max) return NotMine{"no bound, which PyTorch refuses"};
  if (min && max) {
    const TensorOrScalar inputs[] = {x, *min, *max};
    return formula_of(between, inputs, {}, {});
  }
  const TensorOrScalar& bound = min ? *min : *max;
  if (self->dtype() == DType::b8 && bound.tensor && bound.tensor->dtype() == DType::b8) return kOtherDtype;
  Tensor out = run_binary(min ? largest : least, x, bound);
  if (!out) return kOtherDtype;
  return out;
}

template <bool in_place> Outcome<Tensor> round_decimals(const Tensor& self, int64_t decimals) {
  static const Functor& functor = *functor_of("round_to");
  const auto steps = decimal_steps(decimals);
  if (!steps) return NotMine{"more than 30 decimals"};
  const TensorOrScalar inputs[] = {{self.get(), {}}};
  return formula_of(functor, inputs, *steps, in_place ? self : Tensor{});
}
template Outcome<Tensor> round_decimals<false>(const Tensor&, int64_t);
template Outcome<Tensor> round_decimals<true>(const Tensor&, int64_t);

template <bool in_place> Outcome<Tensor> heaviside(const Tensor& self, const Tensor& values) {
  const TensorOrScalar inputs[] = {{self.get(), {}}, {values.get(), {}}};
  if (self->dtype() != values->dtype()) return kMixedDtypes;
  return formula("heaviside", inputs, {}, in_place ? self : Tensor{}, Whole::kept);
}
template Outcome<Tensor> heaviside<false>(const Tensor&, const Tensor&);
template Outcome<Tensor> heaviside<true>(const Tensor&, const Tensor&);

template <bool in_place> Outcome<Tensor> divisor(Registered<Functor> f, const Tensor& self, const Tensor& other) {
  const TensorOrScalar inputs[] = {{self.get(), {}}, {other.get(), {}}};
  for (const TensorOrScalar& i : inputs)
    if (!is_integral(i.tensor->dtype(), false)) return kOtherDtype;
  return formula_of(*f, inputs, {}, in_place ? self : Tensor{});
}
template Outcome<Tensor> divisor<false>(Registered<Functor>, const Tensor&, const Tensor&);
template Outcome<Tensor> divisor<true>(Registered<Functor>, const Tensor&, const Tensor&);

Outcome<Tensor> angle(const Tensor& self) {
  static const Functor& of_real = *functor_of("angle");
  static const PointwiseOp of_complex{.name = "complex_angle", .real = true};
  const TensorOrScalar inputs[] = {{self.get(), {}}};
  if (!is_complex(self->dtype())) return formula_of(of_real, inputs, {}, {});
  return or_not_mine(run_unary(of_complex, self), kOtherDtype.reason);
}

Outcome<Tensor> complex(const Tensor& real, const Tensor& imag) {
  const DType t = real->dtype();
  if (t != DType::f32 && t != DType::f64) return kOtherDtype;
  if (imag->dtype() != t) return kMixedDtypes;
  if (real->device() != imag->device()) return kMixedDevices;
  const TensorImpl* like[] = {real.get(), imag.get()};
  const Tensor out =
      allocate_like(broadcast_shapes(real->sizes(), imag->sizes()), like, 2, to_complex(t), real->device());
  const Elementwise e{"complex", t, out->dtype(), 3, {Operand::of(*out), Operand::of(*real), Operand::of(*imag)}};
  if (!run_elementwise(e, out->sizes(), out->device().index)) return kNotCompiled;
  return out;
}

Outcome<Tensor> polygamma(int64_t order, const Tensor& self) {
  if (order < 1 || order > 1000) return NotMine{"an order beyond 1 to 1000"};
  const TensorOrScalar inputs[] = {{self.get(), {}}};
  return formula("polygamma", inputs, {double(order)}, {});
}

Outcome<Tensor> glu(const Tensor& self, int64_t dim) {
  if (dim < -self->dim() || dim >= self->dim()) return NotMine{"a dim out of range"};
  if (dim < 0) dim += self->dim();
  const int64_t size = self->sizes()[size_t(dim)];
  if (size % 2) return NotMine{"an odd size, which PyTorch refuses"};
  const Tensor a = narrow(*self, dim, 0, size / 2), b = narrow(*self, dim, size / 2, size / 2);
  const TensorOrScalar inputs[] = {{a.get(), {}}, {b.get(), {}}};
  return formula("glu", inputs, {}, {});
}

Outcome<Tensor> glu_backward(const Tensor& g, const Tensor& self, int64_t dim) {
  if (dim < -self->dim() || dim >= self->dim()) return NotMine{"a dim out of range"};
  if (dim < 0) dim += self->dim();
  const int64_t size = self->sizes()[size_t(dim)] / 2;
  const Tensor out = empty(self->sizes(), self->dtype(), self->device()), a = narrow(*self, dim, 0, size),
               b = narrow(*self, dim, size, size);
  const TensorOrScalar of_value[] = {{g.get(), {}}, {b.get(), {}}},
                       of_gate[] = {{g.get(), {}}, {a.get(), {}}, {b.get(), {}}};
  const Outcome<Tensor> value = formula("glu", of_value, {}, narrow(*out, dim, 0, size));
  if (!value) return value.why();
  const Outcome<Tensor> gate = formula("glu_gate_backward", of_gate, {}, narrow(*out, dim, size, size));
  if (!gate) return gate.why();
  return out;
}

namespace {

// Of two tensors of equal shape on one device, and a number or none; the result is like the first.
Outcome<Tensor> pointwise(
    const char* op, const Tensor& a, const Tensor& b, const double* number, const double* extra = nullptr) {
  const DType t = a->dtype(), compute = cuda::compute_dtype(t);
  if (!floating(t)) return kOtherDtype;
  if (a->device() != b->device()) return kMixedDevices;
  if (!std::ranges::equal(a->sizes(), b->sizes())) return kOtherSizes;
  const TensorImpl* inputs[] = {a.get(), b.get()};
  const Tensor out = allocate_like(a->sizes(), inputs, 2, t, a->device());
  alignas(16) char value[16] = {};
  if (number) store_number(value, compute, Scalar{Scalar::Float, 0, *number});
  Elementwise e{op, compute, compute, number ? 4 : 3, {Operand::of(*out), Operand::of(*a), Operand::of(*b)}};
  if (number) {
    e.operands[3].data = value;
    e.operands[3].dtype = compute;
    e.numbers[3] = true;
  }
  if (extra) std::copy(extra, extra + 3, e.extra);
  if (!run_elementwise(e, a->sizes(), a->device().index)) return kNotCompiled;
  return out;
}

}  // namespace

Outcome<Tensor> masked_scale(const Tensor& self, const Tensor& mask, double scale) {
  return pointwise("masked_scale", self, mask, &scale);
}

Outcome<Tensor> pointwise_backward(
    const Tensor& g, const Tensor& saved, std::string_view name, double p, double q, double r) {
  const Functor* functor = name.ends_with("_backward") ? functor_of(name) : nullptr;
  if (!functor) return NotMine{"a gradient without a functor"};
  if (g->dtype() != saved->dtype()) return kMixedDtypes;
  const double extra[] = {p, q, r};
  return pointwise(functor->op, g, saved, nullptr, extra);
}

namespace {

// What tells whether a number may be written among elements of a dtype: of their kind. Null: it may.
const char* not_of_kind(Scalar value, DType t) {
  if (value.big) return "a number of another kind";
  if (is_complex(t) && pointwise_dtype(t)) return nullptr;
  if (value.type == Scalar::Complex) return "a number of another kind";
  if (floating(t)) return nullptr;
  if (!is_integral(t, false) || t == DType::u64) return kOtherDtype.reason;
  return value.type == Scalar::Float ? "a number of another kind" : nullptr;
}

// Into `out`, or a new tensor where it is null.
Outcome<Tensor> fill_masked(const Tensor& self, const Tensor& mask, Scalar value, Tensor out) {
  const DType t = self->dtype();
  if (mask->dtype() != DType::b8) return NotMine{"a mask other than bool"};
  if (mask->device() != self->device()) return kMixedDevices;
  if (const char* why = not_of_kind(value, t)) return NotMine{why};
  check_fits(value, t);
  const DType compute = cuda::compute_dtype(t);
  const Dims shape = broadcast_shapes(self->sizes(), mask->sizes());
  if (!out)
    out = empty(shape, t, self->device());
  else if (!std::ranges::equal(shape, out->sizes()))
    return kOtherSizes;
  alignas(16) char number[16] = {};
  store_number(number, compute, value);
  Elementwise e{"where", compute, compute, 4,
      {Operand::of(*out), Operand::of(*mask), Operand{number, compute, {}, {}}, Operand::of(*self)}};
  e.numbers[2] = true;
  if (!run_elementwise(e, out->sizes(), self->device().index)) return kNotCompiled;
  return out;
}

}  // namespace

Outcome<Tensor> masked_fill(const Tensor& self, const Tensor& mask, Scalar value) {
  return fill_masked(self, mask, value, {});
}
Outcome<Tensor> masked_fill_(const Tensor& self, const Tensor& mask, Scalar value) {
  return fill_masked(self, mask, value, self);
}

Outcome<Tensor> is_close(const Tensor& self, const Tensor& other, double relative, double absolute, bool equal_nan) {
  const DType t = self->dtype();
  if (!(relative >= 0) || !(absolute >= 0)) return NotMine{"a negative tolerance, which PyTorch refuses"};
  if (!pointwise_dtype(t)) return kOtherDtype;
  if (other->dtype() != t) return kMixedDtypes;
  if (self->device() != other->device()) return kMixedDevices;
  if (is_integral(t, true) && relative == 0 && absolute == 0)  // beyond 2**53 too
    return or_not_mine(binary("eq", self, other), kOtherDtype.reason);
  if (self->has_math_bits() || other->has_math_bits()) return NotMine{"negative or conjugate bits"};
  const Tensor out = empty(broadcast_shapes(self->sizes(), other->sizes()), DType::b8, self->device());
  const Tensor a = expand(*self, out->sizes()), b = expand(*other, out->sizes());
  const DType compute = is_integral(t, true) ? DType::f64 : cuda::compute_dtype(t);
  Elementwise e{"is_close", compute, DType::b8, 3, {Operand::of(*out), Operand::of(*a), Operand::of(*b)}};
  e.extra[0] = absolute;
  e.extra[1] = relative;
  e.extra[2] = equal_nan;
  if (!run_elementwise(e, out->sizes(), self->device().index)) return kNotCompiled;
  return out;
}

}  // namespace shim::cuda
