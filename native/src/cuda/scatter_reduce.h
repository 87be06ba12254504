#pragma once
// index_fill and scatter_reduce on CUDA. False where there is no kernel for the case, which then changed nothing.
#include "core/tensor.h"
#include "ops/kernels.h"

namespace shim::cuda {

enum class ScatterReduce { sum, prod, mean, amax, amin };

// out[..., index, ...] = value along `dim`, in place: `index` has as many dims as out, negative ones count from the end where it wraps.
bool fill_at(const Tensor& out, int64_t dim, const Tensor& index, Scalar value, bool wraps);
// out[..., index, ...] becomes the reduction of src there, and of what it was with `include_self`, in place; arguments as of scatter().
bool scatter_reduce(
    const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, ScatterReduce how, bool include_self);

}  // namespace shim::cuda
