#pragma once
// tensor[...] by integers, slices, None, Ellipsis, or one tensor of indices. Null, or false: a call that is not for here.
#include <span>

#include "ops/value.h"

namespace shim {

constexpr int64_t kToTheEnd = INT64_MAX;

struct IndexItem {
  enum Kind : uint8_t { integer, slice, ellipsis, new_axis } kind;
  int64_t start = 0, end = kToTheEnd, step = 1;  // of a slice; an integer is `start`
};

Tensor index_view(const Tensor&, std::span<const IndexItem>);
Tensor index_by(const Tensor&, const Tensor& indices);
bool assign(const Tensor& view, const Value& number_or_tensor);

}  // namespace shim
