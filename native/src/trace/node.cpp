#include "trace/node.h"

#include <cstring>

namespace shim::trace {

TensorSpec TensorSpec::of(const TensorImpl& t) {
  TensorSpec s;
  s.conj = t.is_conj;
  s.neg = t.is_neg;
  s.wrapped_number = t.wrapped_number;
  s.dtype = t.dtype();
  s.device = t.device();
  s.offset = t.storage_offset();
  s.dims.assign(t.sizes_data(), t.sizes_data() + 2 * t.dim());
  s.nbytes = t.storage()->nbytes();
  return s;
}

bool TensorSpec::lies_like(const TensorImpl& t) const {
  return dtype == t.dtype() && dims.size() == 2 * size_t(t.dim()) && offset == t.storage_offset() &&
         conj == t.is_conj && neg == t.is_neg && wrapped_number == t.wrapped_number && device == t.device() &&
         !std::memcmp(dims.data(), t.sizes_data(), dims.size() * sizeof(int64_t));
}

Tensor TensorSpec::over(Ref<Storage> storage) const {
  Tensor t(new TensorImpl(std::move(storage), dtype, sizes(), strides(), offset));
  t->is_conj = conj;
  t->is_neg = neg;
  t->wrapped_number = wrapped_number;
  return t;
}

}  // namespace shim::trace
