#include "core/math_bits.h"

namespace shim {

bool math_bits_seen = false;

void set_conj(TensorImpl& t, bool on) {
  CHECK(Kind::Runtime, !on || is_complex(t.dtype()),
      "isComplexType(typeMetaToScalarType(dtype())) INTERNAL ASSERT FAILED: only complex tensors have a conjugate bit, "
      "but got ",
      scalar_name(t.dtype()));
  t.is_conj = on;
  math_bits_seen |= on;
}

void set_neg(TensorImpl& t, bool on) {
  t.is_neg = on;
  math_bits_seen |= on;
}

Tensor conj_view(const TensorImpl& t) {
  Tensor v = alias(t);
  set_conj(*v, !t.is_conj);
  return v;
}

Tensor neg_view(const TensorImpl& t) {
  Tensor v = alias(t);
  set_neg(*v, !t.is_neg);
  return v;
}

Tensor without_math_bits(const TensorImpl& t) {
  Tensor v = alias(t);
  v->is_conj = v->is_neg = false;
  return v;
}

}  // namespace shim
