#pragma once
// embedding_bag on CUDA. Null where there is no kernel for the case.
#include "core/tensor.h"

namespace shim::cuda {

struct Bags {
  Tensor out, bag_of, counts, most;
};
// table (rows, width), indices (n,) and offsets of one type, int32 or int64; samples (n,) of the table's dtype, or null. `mode` 0 sums, 1 means,
// 2 maxima. `closed`: the last offset is the end of the last bag. Of the row `padding` nothing is taken.
Bags embedding_bags(const Tensor& table, const Tensor& indices, const Tensor& offsets, const Tensor& samples, int mode,
    bool closed, int64_t padding);
// By the table, of sums or means: the same sums in every run.
Tensor embedding_bags_backward(const Tensor& g, const Tensor& indices, const Tensor& bag_of, const Tensor& counts,
    const Tensor& samples, int64_t rows, bool mean, int64_t padding);
// By the samples' weights.
Tensor embedding_bags_samples(
    const Tensor& g, const Tensor& table, const Tensor& indices, const Tensor& bag_of, int64_t padding);

}  // namespace shim::cuda
