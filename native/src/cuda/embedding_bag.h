#pragma once
// embedding_bag on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// table (rows, width), indices (n,) and offsets of one type, int32 or int64; samples (n,) of the table's dtype. `mode` 0 sums, 1 means,
// 2 maxima. `closed`: the last offset is the end of the last bag. Of the row `padding` nothing is taken.
// The bags, the bag of each index, how many each bag has, and the rows that maxima came from (none of sums and means).
Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> embedding_bags(const Tensor& table, const Tensor& indices,
    const Tensor& offsets, const OptionalTensor& samples, int64_t mode, bool closed, int64_t padding);
// By the table, of sums or means: the same sums in every run.
Outcome<Tensor> embedding_bags_backward(const Tensor& g, const Tensor& indices, const Tensor& bag_of,
    const Tensor& counts, const OptionalTensor& samples, int64_t rows, bool mean, int64_t padding);
// By the samples' weights.
Outcome<Tensor> embedding_bags_samples(
    const Tensor& g, const Tensor& table, const Tensor& indices, const Tensor& bag_of, int64_t padding);

}  // namespace shim::cuda
