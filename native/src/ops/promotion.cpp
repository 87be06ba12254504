// Type promotion over tensors and numbers.
#include "ops/kernels.h"

namespace shim {

void Promotion::add(DType t, int ndim, bool wrapped) {
  if (wrapped)
    number_ = promote(number_, is_complex(t) ? to_complex(default_dtype()) : is_floating(t) ? default_dtype() : t);
  else if (ndim > 0)
    dim_ = promote(dim_, t);
  else
    zero_ = promote(zero_, t);
}

void Promotion::add(const TensorImpl& t) { add(t.dtype(), t.dim(), t.wrapped_number); }

void Promotion::add(Scalar n) {
  DType t = n.type == Scalar::Bool    ? DType::b8
            : n.type == Scalar::Int   ? (n.big ? DType::u64 : DType::i64)
            : n.type == Scalar::Float ? default_dtype()
                                      : to_complex(default_dtype());
  number_ = promote(number_, t);
}

namespace {

// A lower category changes the dtype only when it is of a higher kind (bool < integer < float < complex).
DType combine(DType higher, DType lower) {
  if (higher == DType::undefined) return lower;
  if (lower == DType::undefined) return higher;
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? to_complex(higher) : higher;
  if (higher == DType::b8 || is_floating(lower) || is_complex(lower)) return promote(higher, lower);
  return higher;
}

}  // namespace

DType Promotion::result() const { return combine(dim_, combine(zero_, number_)); }

DType result_type(const Tensor& a, const Tensor& b) {
  if (a->dtype() == b->dtype()) return a->dtype();
  Promotion p;
  p.add(*a);
  p.add(*b);
  return p.result();
}

}  // namespace shim
