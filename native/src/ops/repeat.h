#pragma once
// A tensor repeated along its dims, as a copy of a view that has every dim twice.
#include "core/checked.h"
#include "core/tensor.h"
#include "ops/kernels.h"

namespace shim {

struct Repeated {
  Tensor out, to, from;
};  // what is to be given; a view of it, and what is to be copied there

// False where nothing is to be copied, or where twice the dims are too many. `repeats` has no fewer entries than self has dims.
inline bool repeated(const TensorImpl& self, const Dims& repeats, Repeated* r) {
  if (repeats.empty() || int(repeats.size()) < self.dim() || !self.numel() || 2 * repeats.size() > size_t(kMaxDims))
    return false;
  const size_t more = repeats.size() - size_t(self.dim());
  Dims shape, twice, strides;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 1) return false;
    const int64_t size = d < more ? 1 : self.sizes()[d - more];
    shape.push_back(checked_product({size, repeats[d]}));
    twice.insert(twice.end(), {repeats[d], size});
    strides.insert(strides.end(), {0, d < more ? 0 : self.strides()[d - more]});
  }
  r->out = empty(shape, self.dtype(), self.device());
  r->to = view(*r->out, twice);
  r->from = as_strided(self, twice, strides, self.storage_offset());
  return true;
}

}  // namespace shim
