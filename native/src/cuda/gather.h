#pragma once
// cat, index_select, gather, scatter and indexing by tensors on CUDA. Null or false where there is no kernel for the case.
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
// out[..., index, ...] = or += src, in place. `index` and `src` have as many dims as out; src's sizes are at least index's, or it is 0-d.
// `wraps`: negative indices count from the end (not where it adds).
bool scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, bool adds, bool wraps = false);
// out (rows, ...)[keys] = values (keys, ...), in place; values of one element count for all.
bool put_rows(const Tensor& out, const Tensor& keys, const Tensor& values);
// out[key] += the values at `order` of each run of equal sorted keys, in that order; keys of `skip` are left out.
bool add_runs(const Tensor& out, const Tensor& keys, const Tensor& order, const Tensor& values, int64_t skip);

}  // namespace shim::cuda
