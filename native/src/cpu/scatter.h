#pragma once
// scatter, gather, index_put and bags of embeddings on the CPU. False, or null, where there is no kernel for the case or an index is out
// of bounds: nothing is written then, and the caller raises the error.
#include <span>

#include "core/tensor.h"

namespace shim {

// out[..., index, ...] = src, or what the two make; `index` (int32 or int64) has as many dims as `out`, and `src` covers it.
enum class Scatter : uint8_t { put, add, multiply, largest, smallest };
bool scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, Scatter how);
// out[indices] = values, or +=, over the leading dims of a contiguous `out`; negative indices count from the end.
bool index_put(const Tensor& out, std::span<const Tensor> indices, const Tensor& values, bool adds);
Tensor gather(const TensorImpl& self, int64_t dim, const TensorImpl& index);

// Sums (mode 0), means (1) or maxima (2) of the rows of `weight` at the indices of each bag; the bag of each index, how many each bag has,
// the rows that maxima came from. Of whole numbers of int64; `closed`: the last offset ends the last bag.
struct Bags {
  Tensor out, bag_of, counts, most;
};
bool bags_of_rows(const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& samples, int mode,
    bool closed, int64_t padding, Bags* found);

}  // namespace shim
