#pragma once
#include "core/tensor.h"

namespace shim {

// Whether all are in [0, n).
inline bool within(const TensorImpl& index, int64_t n) {  // of a contiguous int64 tensor
  const auto* p = index.data_as<int64_t>();
  bool good = true;
  for (int64_t i = 0; i < index.numel(); ++i) good &= uint64_t(p[i]) < uint64_t(n);
  return good;
}

}  // namespace shim
