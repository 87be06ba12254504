#pragma once
// Joining and gathering: kernels that move elements without looking at their values. Null where there is no kernel for the case;
// bounds are checked, and what is out of them is left to the caller, which knows the error.
#include <span>

#include "core/tensor.h"

namespace shim {

Tensor cat(std::span<const TensorImpl* const> tensors, int64_t dim);     // of one dtype and matching sizes
// self with dim `dim` replaced by the dims of `index` (int32 or int64); `wraps`: negative indices count from the end.
Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps);
// self[..., i, j, ...]: int64 indices that broadcast with each other, for the dims from `first` on.
Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices);
Tensor take_masked(const TensorImpl& self, const TensorImpl& mask);      // self[mask], mask over the leading dims
Tensor gather(const TensorImpl& self, int64_t dim, const TensorImpl& index);
Tensor nonzero(const TensorImpl& self);                                  // (n, dims) int64

}  // namespace shim
