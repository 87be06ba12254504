#pragma once
// cat, indexing by tensors and masks, and nonzero on the CPU.
#include "ops/index_layout.h"

namespace shim {

Outcome<Tensor> cat(TensorList tensors, int64_t dim);
Outcome<Tensor> stack(TensorList tensors, int64_t dim);

// Null where there is no kernel for the case or an index is out of bounds: the caller raises the error.
// self with dim `dim` replaced by the dims of `index` (int32 or int64); `wraps`: negative indices count from the end.
Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps);
// self[..., i, j, ...]: int64 indices that broadcast with each other, for the dims from `first` on.
Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices);
Tensor take_masked(const TensorImpl& self, const TensorImpl& mask);  // self[mask], mask over the leading dims
Tensor nonzero(const TensorImpl& self);                              // (n, dims) int64

}  // namespace shim
