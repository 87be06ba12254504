#include "cpu/clamp.h"

#include <algorithm>
#include <array>

#include "core/sparse.h"
#include "cpu/formulas.h"
#include "cpu/parallel.h"
#include "cpu/pointwise.h"

namespace shim {
namespace {

Outcome<Tensor> clamped(const PointwiseFormula& f, std::span<const TensorOrScalar> inputs) {
  const UnlockedWork others_run(inputs[0].tensor->numel());
  return or_not_mine(run_formula(f, inputs), "dtypes other than one float of two bytes or more");
}

// `out` is self, or null for a new one.
Outcome<Tensor> filled(const Tensor& self, const Tensor& mask, Scalar value, Tensor out) {
  const DType t = self->dtype();
  const bool floats = is_floating(t) && self->itemsize() > 1, truth = t == DType::b8 && value.type == Scalar::Bool;
  if (mask->dtype() != DType::b8) return NotMine{"a mask that is not bool"};
  if (value.type == Scalar::Complex || value.big) return NotMine{"a complex number, or an integer of 2**63 or more"};
  if (!floats && !truth && (value.type == Scalar::Float || !is_integral(t, false)))
    return NotMine{"a number of another kind than the tensor's, or its dtype"};
  if (out && clashes(*self, *mask)) return NotMine{"a mask that shares memory with what is filled"};
  if (self->has_math_bits()) return NotMine{"math bits"};
  const UnlockedWork others_run(self->numel());
  check_fits(value, t);
  const Dims shape = broadcast_shapes(self->sizes(), mask->sizes());
  if (out && !std::ranges::equal(out->sizes(), shape)) return NotMine{"a mask of more elements than what is filled"};
  if (!out) out = empty(shape, t, Device{});  // contiguous whatever the order of self is, as PyTorch has it
  alignas(16) char number[16] = {};
  store_number(number, t, value);
  const Operand operands[4] = {Operand::of(*out), Operand::of(*mask), Operand{number, t, {}, {}}, Operand::of(*self)};
  if (out->numel() && !select(shape, operands)) return NotMine{"elements of 16 bytes"};
  return out;
}

struct MaskedScale {
  // A product where nothing is kept too: signs of zeros and what is not finite come out as of a product with the mask.
  template <class T> static T f(T x, T mask, T scale) { return x * (mask != T(0) ? scale : T(0)); }
};

}  // namespace

Outcome<Tensor> clamp_min_tensor(const Tensor& self, const Tensor& min) {
  static const PointwiseFormula& f = *pointwise_formula("clamp_least");
  return clamped(f, std::array<TensorOrScalar, 2>{{{self.get(), {}}, {min.get(), {}}}});
}
Outcome<Tensor> clamp_max_tensor(const Tensor& self, const Tensor& max) {
  static const PointwiseFormula& f = *pointwise_formula("clamp_most");
  return clamped(f, std::array<TensorOrScalar, 2>{{{self.get(), {}}, {max.get(), {}}}});
}
Outcome<Tensor> clamp_tensors(const Tensor& self, const OptionalTensor& min, const OptionalTensor& max) {
  static const PointwiseFormula& f = *pointwise_formula("clamp_between");
  if (!min && !max) return NotMine{"no bound"};
  if (!max) return clamp_min_tensor(self, *min);
  if (!min) return clamp_max_tensor(self, *max);
  return clamped(f, std::array<TensorOrScalar, 3>{{{self.get(), {}}, {min->get(), {}}, {max->get(), {}}}});
}

Outcome<Tensor> masked_fill(const Tensor& self, const Tensor& mask, Scalar value) {
  return filled(self, mask, value, {});
}
Outcome<Tensor> masked_fill_(const Tensor& self, const Tensor& mask, Scalar value) {
  return filled(self, mask, value, self);
}

Outcome<Tensor> masked_scale(const Tensor& self, const Tensor& mask, double by) {
  const DType compute = compute_dtype(self->dtype());
  if (is_sparse(*self) || is_sparse(*mask)) return NotMine{"sparse tensors"};
  if (!is_floating(self->dtype()) || self->itemsize() == 1) return NotMine{"no real floats of two bytes or more"};
  if (!std::ranges::equal(self->sizes(), mask->sizes())) return NotMine{"a mask of another shape"};
  const UnlockedWork others_run(self->numel());
  alignas(16) char scale[16] = {};
  store_number(
      scale, compute, rounded(Scalar{Scalar::Float, 0, by}, self->dtype()));  // as a mask of that dtype holds it
  const TensorImpl* like[] = {self.get()};
  Tensor out = allocate_like(self->sizes(), like, 1, self->dtype());
  const Operand operands[4] = {
      Operand::of(*out), Operand::of(*self), Operand::of(*mask), Operand{scale, compute, {}, {}}};
  if (out->numel())
    run_blocks(self->sizes(), operands, 4, compute, compute,
        compute == DType::f64 ? formula_loop<MaskedScale, double, 3> : formula_loop<MaskedScale, float, 3>);
  return out;
}

}  // namespace shim
