#include <algorithm>

#include "ops/kernels.h"

namespace shim {

Dims strides_in_order_of(const TensorImpl& like) {
  return dense_strides(like.sizes(), std::vector<Dims>{{like.strides().begin(), like.strides().end()}});
}

Tensor laid_out_as(const Tensor& t, const TensorImpl& like) {
  const Dims strides = strides_in_order_of(like);
  if (std::equal(strides.begin(), strides.end(), t->strides().begin())) return t;
  const Tensor to = empty_strided(t->sizes(), strides, t->dtype(), t->device());
  copy_(to, t);
  return to;
}

}  // namespace shim
