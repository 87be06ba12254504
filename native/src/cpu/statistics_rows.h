#pragma once
// The rows that statistics are taken of.
#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/row_lanes.h"
#include "cpu/vector_math.h"
#include "ops/kernel.h"

namespace shim {

namespace {

constexpr int64_t kShortRow = 32;  // below, lanes of a row are mostly empty

// The tensor as rows to be reduced: contiguous, of the compute dtype; reduced dims last.
struct Rows {
  Tensor data;
  int64_t rows = 1, cols = 1;
  Dims shape;  // of the result
};

inline Outcome<Rows> rows_of(const Tensor& self, IntArrayRef dims, bool keepdim, DType compute) {
  const int n = self->dim();
  Rows r;
  bool reduced[kMaxDims] = {};
  if (dims.empty()) std::fill_n(reduced, n, true);
  for (int64_t d : dims) {
    if (n == 0 ? d < -1 || d > 0 : d < -n || d >= n) return NotMine{"a dim out of range"};
    bool& mark = reduced[d < 0 ? d + n : d];
    if (n && mark) return NotMine{"a dim named twice"};
    mark = true;
  }
  Dims order, last;
  for (int d = 0; d < n; ++d) {
    (reduced[d] ? last : order).push_back(d);
    (reduced[d] ? r.cols : r.rows) *= self->sizes()[size_t(d)];
    if (!reduced[d] || keepdim) r.shape.push_back(reduced[d] ? 1 : self->sizes()[size_t(d)]);
  }
  order.insert(order.end(), last.begin(), last.end());
  Tensor seen = std::is_sorted(order.begin(), order.end()) ? self : permute(*self, order);
  if (seen->dtype() != compute || !seen->is_contiguous()) {
    Tensor packed = empty(seen->sizes(), compute, Device{});
    copy_(packed, seen);
    seen = packed;
  }
  r.data = seen;
  return r;
}

inline bool real_float(const Tensor& t) { return is_floating(t->dtype()) && t->itemsize() > 1; }
constexpr NotMine kNoRealFloats{"no real floats of two bytes or more"};

inline Tensor narrowed(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }

}  // namespace

}  // namespace shim
