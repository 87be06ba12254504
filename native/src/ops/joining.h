#pragma once
// What cat and stack of every device ask of their tensors.
#include "ops/kernel.h"

namespace shim {

struct Joined {
  TensorList parts;  // without empty vectors, which count for nothing: what a cache begins as
  DType dtype{};     // that all promote to
  bool mixed = false;
  size_t dim = 0;
  Dims sizes;
  int64_t elements = 0;
  MemoryFormat format = MemoryFormat::contiguous;
  std::vector<Tensor> kept;  // of `parts`, where some are left out
};

// Of Tensor's own layout: a pointer.
inline std::span<const TensorImpl* const> pointers_of(TensorList tensors) {
  static_assert(sizeof(Tensor) == sizeof(TensorImpl*));
  return {reinterpret_cast<const TensorImpl* const*>(tensors.data()), tensors.size()};
}

// What is joined, and the result's sizes, dtype and format, for tensors of one device whose sizes match but along `dim`.
Outcome<Joined> joined_of(TensorList tensors, int64_t dim);
// stack with a device's cat.
Outcome<Tensor> stacked(TensorList tensors, int64_t dim, Outcome<Tensor> (*cat)(TensorList, int64_t));

}  // namespace shim
