#pragma once
// cat, indexing by tensors and masks, and nonzero. Null where there is no kernel for the case or an index is out of bounds: the caller
// raises the error.
#include <span>

#include "core/tensor.h"

namespace shim {

Tensor cat(std::span<const TensorImpl* const> tensors, int64_t dim);  // of one dtype and matching sizes
// self with dim `dim` replaced by the dims of `index` (int32 or int64); `wraps`: negative indices count from the end.
Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps);
// self[..., i, j, ...]: int64 indices that broadcast with each other, for the dims from `first` on.
Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices);
Tensor take_masked(const TensorImpl& self, const TensorImpl& mask);  // self[mask], mask over the leading dims
// Strides of an indexed result whose dims from `first` on are the indices', among the dims that self keeps, with their strides:
// as an iterator over self and the indices lays it out.
Dims indexed_strides(IntArrayRef sizes, IntArrayRef kept_strides, int64_t first, std::span<const Tensor> indices);
// The result of self[..., i, j, ...] in that layout.
// `taken` dims from `first` on were replaced by the indices' dims.
Tensor laid_out_like(
    const Tensor& result, const TensorImpl& self, int64_t first, int64_t taken, std::span<const Tensor> indices);
Tensor nonzero(const TensorImpl& self);  // (n, dims) int64

}  // namespace shim
