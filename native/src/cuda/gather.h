#pragma once
// cat, index_select, gather, take and indexing by tensors on CUDA. Null where there is no kernel for the case.
#include <span>

#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> cat(TensorList tensors, int64_t dim);
Outcome<Tensor> stack(TensorList tensors, int64_t dim);
// self with dim `dim` replaced by the dims of `index` (int32 or int64); `wraps`: negative indices count from the end.
Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps);
// The rows that int64 indices name among rows of `sizes`: of the broadcast shape of the indices, negative ones from the end.
Tensor flat_keys(std::span<const Tensor> indices, IntArrayRef sizes);
// self[..., i, j, ...]: int64 indices that broadcast with each other, for the dims from `first` on.
Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices);
Tensor gather(const TensorImpl& self, int64_t dim, const TensorImpl& index);
// self's elements at flat places: an index that is out of range ends the program, as PyTorch's assertion does.
Outcome<Tensor> take(const Tensor& self, const Tensor& index);

}  // namespace shim::cuda
