#include "cuda/index_operators.h"

#include <algorithm>

#include "cuda/gather.h"
#include "cuda/scan.h"
#include "ops/index_layout.h"

namespace shim::cuda {
namespace {

constexpr const char* kNoGather = "a case without a CUDA kernel";

// A kernel that meets an index out of range ends the context: what sizes alone tell is an error before it.
void check_indices(const TensorImpl& self, size_t first, std::span<const Tensor> indices) {
  for (const Tensor& t : indices)
    if (!t->numel()) return;
  for (size_t d = first; d < std::min(first + indices.size(), size_t(self.dim())); ++d)
    CHECK(Kind::Index, self.sizes()[d] != 0, "index is out of bounds for dimension with size 0");
}

}  // namespace

Outcome<Tensor> index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  if (index->dim() != 1) return NotMine{"an index that is no vector"};
  return or_not_mine(take_along(*self, dim, *index, false), kNoGather);
}

Outcome<Tensor> embedding(const Tensor& weight, const Tensor& indices) {
  if (weight->dim() != 2) return NotMine{"a weight that is no matrix"};
  return or_not_mine(take_along(*weight, 0, *indices, false), kNoGather);
}

Outcome<Tensor> gather_operator(const Tensor& self, int64_t dim, const Tensor& index) {
  return or_not_mine(gather(*self, dim, *index), kNoGather);
}

Outcome<Tensor> index_at(const Tensor& self, OptionalTensorList indices) {
  Outcome<NeighbouringIndices> found = neighbouring(indices);
  if (!found) return found.why();
  const int64_t first = found->first;
  const std::span<const Tensor> given = found->tensors();
  check_indices(*self, size_t(first), given);
  std::vector<Tensor> tensors(given.begin(), given.end());
  for (Tensor& t : tensors)
    if (t->dtype() == DType::i32) t = to_dtype(t, DType::i64);
  Tensor taken = tensors.size() == 1 ? take_along(*self, first, *tensors[0], true) : take_points(*self, first, tensors);
  return or_not_mine(laid_out_like(taken, *self, first, int64_t(tensors.size()), tensors), kNoGather);
}

Outcome<Tensor> index_operator(const Tensor& self, OptionalTensorList indices) {
  const Tensor* mask = only_mask(indices);
  if (!mask) return index_at(self, indices);
  return or_not_mine(laid_out_like(take_masked(self, *mask), *self, 0, (*mask)->dim(), {}), kNoGather);
}

Outcome<Tensor> masked_select(const Tensor& self, const Tensor& mask) {
  if (self->dim() != mask->dim()) return NotMine{"a mask of other sizes"};
  return or_not_mine(take_masked(self, mask), kNoGather);
}

Outcome<Tensor> nonzero_operator(const Tensor& self) {
  return or_not_mine(nonzero(is_complex(self->dtype()) ? to_dtype(self, DType::b8) : self), kNoGather);
}

}  // namespace shim::cuda
