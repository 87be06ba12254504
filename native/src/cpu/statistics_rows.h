#pragma once
// The rows that statistics are taken of.
#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/row_lanes.h"
#include "cpu/vector_math.h"
#include "ops/kernel.h"
#include "ops/reduced_dims.h"

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
  auto r = reduced_dims(*self, dims, keepdim);
  if (!r) return r.why();
  Tensor seen = r->last ? self : permute(*self, r->order);
  if (seen->dtype() != compute || !seen->is_contiguous()) {
    Tensor packed = empty(seen->sizes(), compute, Device{});
    copy_(packed, seen);
    seen = packed;
  }
  return Rows{seen, r->rows, r->cols, std::move(r->shape)};
}

inline bool real_float(const Tensor& t) { return is_floating(t->dtype()) && t->itemsize() > 1; }
constexpr NotMine kNoRealFloats{"no real floats of two bytes or more"};

}  // namespace

}  // namespace shim
