#pragma once
// How views are made: over the same storage, by another geometry.
#include "core/tensor.h"

namespace shim {

struct ViewGeometry {  // of a tensor, to be edited
  Dims sizes, strides;
  explicit ViewGeometry(const TensorImpl& t)
      : sizes(t.sizes().begin(), t.sizes().end()), strides(t.strides().begin(), t.strides().end()) {}
};

// Of t's dtype, without a check that the storage holds the geometry. Sparse tensors are refused.
Tensor make_view(const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset);

}  // namespace shim
