#pragma once
// The loops of a group: dims that all operands walk in one step are one.
#include "program/group.h"

namespace shim::program {

// Bytes along the group's dims, outermost first, of a tensor that may have fewer.
std::vector<int64_t> steps_of(const TensorRef&, size_t dims);

struct GroupNest {
  std::vector<int64_t> sizes;                       // innermost first; none: one element
  std::vector<std::vector<int64_t>> loads, stores;  // bytes along them
  explicit GroupNest(const Group&);
  bool packed(const std::vector<int64_t>& steps, int64_t size) const;  // elements lie in the loops' order
  static bool one(const std::vector<int64_t>& steps);                  // the same element for all
};

}  // namespace shim::program
