#pragma once
// Indexing by tensors: which dims the indices stand for, and how the result lies in memory.
#include "ops/kernel.h"

namespace shim {

// Strides of an indexed result whose dims from `first` on are the indices', among the dims that self keeps, with their strides:
// as an iterator over self and the indices lays it out.
Dims indexed_strides(IntArrayRef sizes, IntArrayRef kept_strides, int64_t first, std::span<const Tensor> indices);
// The result of self[..., i, j, ...] in that layout.
// `taken` dims from `first` on were replaced by the indices' dims.
Tensor laid_out_like(
    Tensor result, const TensorImpl& self, int64_t first, int64_t taken, std::span<const Tensor> indices);

// The indices [None, ..., tensor, tensor, None, ...] of neighbouring dims from `first` on. One lies where it was given.
struct NeighbouringIndices {
  int64_t first = 0;
  const Tensor* one = nullptr;
  std::vector<Tensor> several;
  std::span<const Tensor> tensors() const { return one ? std::span(one, 1) : std::span<const Tensor>(several); }
};
Outcome<NeighbouringIndices> neighbouring(OptionalTensorList);
// The one mask of self[mask]; null: the indices are others.
const Tensor* only_mask(OptionalTensorList);

}  // namespace shim
