#pragma once
// Which dims of a tensor a reduction leaves.
#include <algorithm>

#include "core/tensor.h"
#include "ops/kernel.h"

namespace shim {

struct ReducedDims {
  Dims shape, order;           // of the result; all dims, those that are reduced behind the others
  int64_t rows = 1, cols = 1;  // elements of the result, and of each of these
  bool last = true;            // the reduced ones are the last as it is
};

// Without `dims` all are reduced.
inline Outcome<ReducedDims> reduced_dims(const TensorImpl& t, IntArrayRef dims, bool keepdim) {
  const int n = t.dim();
  bool reduced[kMaxDims] = {};
  if (dims.empty()) std::fill_n(reduced, n, true);
  for (int64_t d : dims) {
    if (n == 0 ? d < -1 || d > 0 : d < -n || d >= n) return NotMine{"a dim out of range"};
    bool& mark = reduced[d < 0 ? d + n : d];
    if (n && mark) return NotMine{"a dim named twice"};
    mark = true;
  }
  ReducedDims r;
  Dims behind;
  for (int d = 0; d < n; ++d) {
    const int64_t size = t.sizes()[size_t(d)];
    (reduced[d] ? behind : r.order).push_back(d);
    (reduced[d] ? r.cols : r.rows) *= size;
    if (!reduced[d] || keepdim) r.shape.push_back(reduced[d] ? 1 : size);
  }
  r.order.insert(r.order.end(), behind.begin(), behind.end());
  r.last = std::is_sorted(r.order.begin(), r.order.end());
  return r;
}

}  // namespace shim
