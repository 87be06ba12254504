#pragma once
// How much of a storage a geometry that a caller gave reaches.
#include "core/tensor.h"

namespace shim {

// The bytes up to its last element from the storage's start, 0 where it has none. What would count past 2**63 is refused: a sum that
// wrapped around would let memory outside of the storage be read.
inline size_t extent_bytes(IntArrayRef sizes, IntArrayRef strides, int64_t offset, size_t itemsize) {
  CHECK(Kind::Runtime, offset >= 0, "Tensor: invalid storage offset ", offset);
  const size_t bytes = storage_bytes(sizes, strides, itemsize);
  int64_t before = 0, all = 0;
  const bool overflow = __builtin_mul_overflow(offset, int64_t(itemsize), &before) ||
                        __builtin_add_overflow(before, int64_t(bytes), &all);
  CHECK(Kind::Runtime, !bytes || !overflow, "Storage size calculation overflowed with sizes=", bracketed(sizes),
      " and strides=", bracketed(strides));
  return bytes ? size_t(all) : 0;
}

inline void check_not_overwritten(const Storage& s) {
  CHECK(Kind::Runtime, !s.overwritten,
      "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. To prevent "
      "overwriting, "
      "clone the tensor outside of torch.compile() before the function is called again.");
}

// A storage that does not hold the geometry is refused, in the words PyTorch has for views.
inline void check_within(const Storage& s, IntArrayRef sizes, IntArrayRef strides, int64_t offset, size_t itemsize) {
  check_not_overwritten(s);
  const size_t need = extent_bytes(sizes, strides, offset, itemsize);
  CHECK(Kind::Runtime, need <= s.nbytes(), "setStorage: sizes ", bracketed(sizes), ", strides ", bracketed(strides),
      ", storage offset ", offset, ", and itemsize ", itemsize, " requiring a storage size of ", need,
      " are out of bounds for storage of size ", s.nbytes());
}

}  // namespace shim
