// Reading and writing through the conjugate and negative bits: bytes are copied first, then signs are turned in place.
#include "cpu/copy_bits.h"

#include <algorithm>

#include "core/math_bits.h"
#include "ops/cuda_kernels.h"

namespace shim {

void (*negate_with_operator)(const Tensor&) = nullptr;

namespace {

void negate(const Tensor& t) {
  if (is_complex(t->dtype())) return negate(view_as_real(*t));
  if (t->numel() == 0 || t->device().is_meta()) return;
  if (t->dtype() != DType::b8 && unary("neg", t, t)) return;
  CHECK(Kind::NotImplemented, negate_with_operator, "resolve_neg: ", scalar_name(t->dtype()), " on ",
      to_string(t->device()), " is not supported by shim-torch");
  negate_with_operator(t);
}

// By one kernel, between CUDA tensors of one shape that share no memory.
bool conjugated_on_device(const Tensor& to, const Tensor& src) {
  if (!to->device().is_cuda() || to->device() != src->device() || to->storage() == src->storage() ||
      !std::ranges::equal(to->sizes(), src->sizes()) || !cuda::elementwise_ready())
    return false;
  const DType t = to->dtype();
  return is_complex(src->dtype()) && cuda::pointwise_dtype(t) && cuda::pointwise_dtype(src->dtype()) &&
         cuda::run_elementwise(
             {"conj", t, t, 2, {Operand::of(*to), Operand::of(*src)}}, to->sizes(), to->device().index);
}

void conjugate(const Tensor& t) { negate(select(*view_as_real(*t), -1, 1)); }

}  // namespace

void copy_through_math_bits(const Tensor& self, const Tensor& src, bool non_blocking) {
  if (src->is_neg && self->dtype() != src->dtype())
    return copy_(self, resolved_copy(src), non_blocking);  // unsigned integers wrap
  const bool conj = is_complex(self->dtype()) && self->is_conj != src->is_conj, neg = self->is_neg != src->is_neg;
  Tensor to = without_math_bits(*self);
  if (conj && !neg && conjugated_on_device(to, without_math_bits(*src))) return;
  copy_(to, without_math_bits(*src), non_blocking);
  if (conj) conjugate(to);
  if (neg) negate(to);
}

Tensor resolved_copy(const Tensor& t) { return clone(t); }

Scalar number_in_memory(const TensorImpl& self, Scalar value) {
  if (!self.has_math_bits()) return value;
  if (self.is_conj) value.imag = -value.imag;
  if (!self.is_neg) return value;
  if (value.type == Scalar::Bool || value.type == Scalar::Int) {
    if (is_floating(self.dtype()) || is_complex(self.dtype()))
      return {Scalar::Float, 0, -value.to_double()};  // 0 becomes -0
    value.type = Scalar::Int;
    value.i = int64_t(0 - uint64_t(value.i));
    return value;
  }
  value.f = -value.f;
  value.imag = -value.imag;
  return value;
}

}  // namespace shim
