#include "cpu/pointwise_operators.h"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"
#include "cpu/pointwise.h"

namespace shim {
namespace {

// Without the interpreter's lock where that pays; not on CUDA, whose current stream is asked for under it.
template <class F> [[gnu::always_inline]] inline Tensor computed(const TensorImpl* a, const TensorImpl* b, F&& f) {
  const int64_t elements = std::max(a ? a->numel() : 0, b ? b->numel() : 0);
  if (elements < 2 * kGrain || (a && a->device().is_cuda()) || (b && b->device().is_cuda())) return f();
  return unlocked(elements, f);
}

// Why the pointwise kernels gave no result.
[[gnu::cold, gnu::noinline]] NotMine no_kernel(std::initializer_list<const TensorImpl*> inputs) {
  const TensorImpl* first = nullptr;
  for (const TensorImpl* t : inputs) {
    if (!t) continue;
    if (t->device().is_meta()) return {"a meta tensor"};
    if (is_floating(t->dtype()) && t->itemsize() == 1) return {"float8 tensors"};
    if (first && t->device() != first->device()) return {"tensors of two devices"};
    first = t;
  }
  return {first ? "a dtype without a loop" : "no tensor"};
}

[[gnu::always_inline]] inline Outcome<Tensor> or_why(
    Tensor&& result, const TensorImpl* a, const TensorImpl* b = nullptr) {
  if (__builtin_expect(!result, 0)) return no_kernel({a, b});
  return std::move(result);
}
[[gnu::always_inline]] inline Outcome<const Tensor&> self_or_why(
    const Tensor& result, const Tensor& self, const TensorImpl* other = nullptr) {
  if (__builtin_expect(!result, 0)) return no_kernel({self.get(), other});
  return self;
}

DType dtype_of_result(const PointwiseOp& op, const TensorOrScalar& a, const TensorOrScalar& b) {
  if (op.rule == Rule::compare || op.rule == Rule::logical) return DType::b8;
  Promotion p;
  for (const TensorOrScalar* in : {&a, &b}) in->tensor ? p.add(*in->tensor) : p.add(in->number);
  const DType t = p.result();
  return op.rule == Rule::to_float && is_integral(t, true) ? default_dtype() : t;
}

// Integers to a negative integer power, which PyTorch refuses.
bool refused(const PointwiseOp& op, const TensorOrScalar& a, const TensorOrScalar& b) {
  return !b.tensor && b.number.i < 0 && b.number.type != Scalar::Float && b.number.type != Scalar::Complex &&
         !std::strcmp(op.name, "pow") && is_integral(dtype_of_result(op, a, b), true);
}

// Whether in-place results of this dtype may be written to self.
bool writes_to(const PointwiseOp& op, const TensorImpl& self, const TensorOrScalar& other) {
  if (op.rule == Rule::compare || op.rule == Rule::logical) return true;
  return can_cast(dtype_of_result(op, {const_cast<TensorImpl*>(&self), {}}, other), self.dtype());
}

// Why out is not as the result would be; null: it is.
const char* unlike_result(
    const PointwiseOp& op, const TensorImpl& out, const TensorOrScalar& a, const TensorOrScalar& b) {
  if (!a.tensor || a.tensor->device() != out.device() || (b.tensor && b.tensor->device() != out.device()))
    return "a number first, or tensors of several devices";
  if (out.dtype() != dtype_of_result(op, a, b)) return "an out of another dtype";
  const bool alike = !b.tensor || std::ranges::equal(a.tensor->sizes(), b.tensor->sizes());
  const Dims shape = alike ? Dims(a.tensor->sizes().begin(), a.tensor->sizes().end())
                           : broadcast_shapes(a.tensor->sizes(), b.tensor->sizes());
  return std::ranges::equal(shape, out.sizes()) ? nullptr : "an out of other sizes";
}

constexpr NotMine kNotWritten{"a result that self's dtype cannot hold"}, kNegativePower{"a negative integer power"};

inline Outcome<Tensor> run(const PointwiseOp& op, const TensorOrScalar& a, const TensorOrScalar& b) {
  if (refused(op, a, b)) return kNegativePower;
  return or_why(computed(a.tensor, b.tensor, [&] { return run_binary(op, a, b); }), a.tensor, b.tensor);
}

inline Outcome<const Tensor&> run_(const PointwiseOp& op, const Tensor& self, const TensorOrScalar& b) {
  if (refused(op, {self.get(), {}}, b)) return kNegativePower;
  if (!writes_to(op, *self, b)) return kNotWritten;
  return self_or_why(
      computed(self.get(), b.tensor, [&] { return run_binary(op, {self.get(), {}}, b, self); }), self, b.tensor);
}

// Null: no such rounding.
const PointwiseOp* division(std::optional<std::string_view> rounding) {
  static const PointwiseOp &exact = *binary_op("div"), &whole = *binary_op("floor_divide"),
                           &cut = *binary_op("div_trunc");
  if (!rounding) return &exact;
  return *rounding == "floor" ? &whole : *rounding == "trunc" ? &cut : nullptr;
}

constexpr NotMine kNoRounding{"another rounding than floor and trunc"};

bool boolean(const TensorOrScalar& in) {
  return in.tensor ? in.tensor->dtype() == DType::b8 : in.number.type == Scalar::Bool;
}
bool holds_floats(const TensorOrScalar& in) {
  return in.tensor && (is_floating(in.tensor->dtype()) || is_complex(in.tensor->dtype()));
}

// Why a sum is left to the record's rule, which knows the errors of alphas and of minuses of bool; null: it is not.
const char* unusual(const TensorOrScalar& a, const TensorOrScalar& b, const Scalar& alpha, bool subtract) {
  if (subtract && (boolean(a) || boolean(b))) return "a difference of bools, which PyTorch refuses";
  if (alpha.type == Scalar::Int) return nullptr;
  return alpha.type == Scalar::Float && (holds_floats(a) || holds_floats(b))
             ? nullptr
             : "an alpha of another kind than the tensors";
}

Outcome<Tensor> sum(const TensorOrScalar& a, const TensorOrScalar& b, const Scalar& alpha, bool subtract) {
  if (const char* why = unusual(a, b, alpha, subtract)) return NotMine{why};
  return or_why(computed(a.tensor, b.tensor, [&] { return run_add(a, b, alpha, subtract); }), a.tensor, b.tensor);
}

Outcome<const Tensor&> sum_(const Tensor& self, const TensorOrScalar& b, const Scalar& alpha, bool subtract) {
  static const PointwiseOp& plus = *binary_op("add");
  const TensorOrScalar a{self.get(), {}};
  if (const char* why = unusual(a, b, alpha, subtract)) return NotMine{why};
  if (!writes_to(plus, *self, b)) return kNotWritten;
  return self_or_why(
      computed(self.get(), b.tensor, [&] { return run_add(a, b, alpha, subtract, self); }), self, b.tensor);
}

}  // namespace

Outcome<Tensor> unary_operator(Registered<PointwiseOp> op, const Tensor& self) {
  return or_why(computed(self.get(), nullptr, [&] { return run_unary(*op, self); }), self.get());
}

Outcome<const Tensor&> unary_operator_(Registered<PointwiseOp> op, const Tensor& self) {
  if (op->rule != Rule::arithmetic && is_integral(self->dtype(), true)) return kNotWritten;
  return self_or_why(computed(self.get(), nullptr, [&] { return run_unary(*op, self, self); }), self);
}

Outcome<Tensor> binary_operator(Registered<PointwiseOp> op, const TensorOrScalar& self, const TensorOrScalar& other) {
  return run(*op, self, other);
}

Outcome<const Tensor&> binary_operator_(Registered<PointwiseOp> op, const Tensor& self, const TensorOrScalar& other) {
  return run_(*op, self, other);
}

Outcome<const Tensor&> binary_operator_out(
    Registered<PointwiseOp> op, const TensorOrScalar& self, const TensorOrScalar& other, PlainTensor out) {
  if (refused(*op, self, other)) return kNegativePower;
  if (const char* why = unlike_result(*op, **out, self, other)) return NotMine{why};
  return self_or_why(run_binary(*op, self, other, *out), *out, other.tensor);
}

Outcome<const Tensor&> unary_operator_out(Registered<PointwiseOp> op, const Tensor& self, PlainTensor out) {
  const Tensor& to = *out;
  const bool same_dtype = op->rule == Rule::arithmetic || (op->rule == Rule::to_float && is_floating(self->dtype()));
  if (!same_dtype || is_complex(self->dtype()) || to->dtype() != self->dtype() || to->device() != self->device() ||
      !std::ranges::equal(to->sizes(), self->sizes()))
    return NotMine{"an out of another dtype or of other sizes"};
  return self_or_why(run_unary(*op, self, to), to);
}

Outcome<Tensor> divide(
    const TensorOrScalar& self, const TensorOrScalar& other, std::optional<std::string_view> rounding) {
  const PointwiseOp* op = division(rounding);
  if (!op) return kNoRounding;
  return run(*op, self, other);
}

Outcome<const Tensor&> divide_(
    const Tensor& self, const TensorOrScalar& other, std::optional<std::string_view> rounding) {
  const PointwiseOp* op = division(rounding);
  if (!op) return kNoRounding;
  return run_(*op, self, other);
}

Outcome<Tensor> add_with_alpha(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha) {
  return sum(self, other, alpha, false);
}
Outcome<const Tensor&> add_with_alpha_(const Tensor& self, const TensorOrScalar& other, const Scalar& alpha) {
  return sum_(self, other, alpha, false);
}
Outcome<const Tensor&> sum_with_alpha_out(Registered<bool> subtract, const TensorOrScalar& self,
    const TensorOrScalar& other, const Scalar& alpha, PlainTensor out) {
  static const PointwiseOp& plus = *binary_op("add");
  if (const char* why = unusual(self, other, alpha, *subtract)) return NotMine{why};
  if (const char* why = unlike_result(plus, **out, self, other)) return NotMine{why};
  return self_or_why(run_add(self, other, alpha, *subtract, *out), *out, other.tensor);
}
Outcome<Tensor> sub_with_alpha(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha) {
  return sum(self, other, alpha, true);
}
Outcome<const Tensor&> sub_with_alpha_(const Tensor& self, const TensorOrScalar& other, const Scalar& alpha) {
  return sum_(self, other, alpha, true);
}

Outcome<Tensor> gelu(const Tensor& self, std::string_view approximate) {
  static const PointwiseOp &exact = *unary_op("gelu"), &fast = *unary_op("gelu_tanh");
  const bool tanh = approximate == "tanh";
  if (!tanh && approximate != "none") return NotMine{"another approximation than tanh"};
  return or_why(computed(self.get(), nullptr, [&] { return run_unary(tanh ? fast : exact, self); }), self.get());
}

Outcome<Tensor> where(const Tensor& condition, const TensorOrScalar& self, const TensorOrScalar& other) {
  if (condition->dtype() != DType::b8) return NotMine{"a condition that is not bool"};
  Tensor result = computed(condition.get(), self.tensor, [&] { return run_where(condition, self, other); });
  if (!result) return no_kernel({condition.get(), self.tensor, other.tensor});
  return result;
}

Outcome<Tensor> clamp(const Tensor& self, const std::optional<Scalar>& least, const std::optional<Scalar>& most) {
  if (!least && !most) return NotMine{"no bound, which PyTorch refuses"};
  Tensor result = computed(
      self.get(), nullptr, [&] { return run_clamp(self, least ? &*least : nullptr, most ? &*most : nullptr); });
  if (!result) return NotMine{"a dtype or a bound without a loop"};
  return result;
}

}  // namespace shim
