#pragma once
// Lazy conjugates and negatives: views whose bit says that the values are the conjugate, or the negative, of what memory holds.
// Views keep the bits; copy_, clone and fill_ read and write through them; dispatch hands other kernels resolved copies.
#include "core/tensor.h"

namespace shim {

extern bool math_bits_seen;  // some tensor has had a bit: until then nobody looks for them

void set_conj(TensorImpl&, bool);  // complex tensors only
void set_neg(TensorImpl&, bool);
Tensor conj_view(const TensorImpl&);  // the same memory, the other bit
Tensor neg_view(const TensorImpl&);
Tensor without_math_bits(const TensorImpl&);  // what memory holds
Tensor resolved_copy(const Tensor&);          // the values, in memory of their own
inline Tensor resolved(const Tensor& t) { return __builtin_expect(t->has_math_bits(), 0) ? resolved_copy(t) : t; }

// Writes -x over x where there is no native kernel for it; set by src/python.
extern void (*negate_with_operator)(const Tensor&);

}  // namespace shim
