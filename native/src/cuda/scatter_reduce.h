#pragma once
// Filling and reducing into indexed places on CUDA. False where there is no kernel for the case, which then changed nothing.
#include "core/tensor.h"
#include "ops/kernels.h"

namespace shim::cuda {

enum class Join { sum, product, mean, greatest, least };

// out[..., index, ...] = value along `dim`, in place: `index` has as many dims as out, negative ones count from the end where it wraps.
bool fill_at(const Tensor& out, int64_t dim, const Tensor& index, Number value, bool wraps);
// out[..., index, ...] becomes what it was (with `include_self`) and src there joined, in place; as scatter() takes them.
bool scatter_join(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, Join how, bool include_self);

}  // namespace shim::cuda
