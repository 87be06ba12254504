#include "cpu/index_operators.h"

#include "cpu/indexing.h"
#include "cpu/parallel.h"
#include "cpu/scatter.h"

namespace shim {
namespace {

constexpr const char* kOutOfRange = "an index out of range, or a case without a kernel";

}  // namespace

Outcome<Tensor> index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  if (index->dim() != 1) return NotMine{"an index that is no vector"};
  return or_not_mine(unlocked(self->numel(), [&] { return take_along(*self, dim, *index, false); }), kOutOfRange);
}

Outcome<Tensor> embedding(const Tensor& weight, const Tensor& indices) {
  if (weight->dim() != 2) return NotMine{"a weight that is no matrix"};
  return or_not_mine(
      unlocked(indices->numel() * weight->sizes()[1], [&] { return take_along(*weight, 0, *indices, false); }),
      kOutOfRange);
}

Outcome<Tensor> gather_operator(const Tensor& self, int64_t dim, const Tensor& index) {
  return or_not_mine(unlocked(index->numel(), [&] { return gather(*self, dim, *index); }), kOutOfRange);
}

Outcome<Tensor> index_at(const Tensor& self, OptionalTensorList indices) {
  Outcome<NeighbouringIndices> found = neighbouring(indices);
  if (!found) return found.why();
  const int64_t first = found->first;
  const std::span<const Tensor> tensors = found->tensors();
  const bool one = tensors.size() == 1;
  if (one && tensors[0]->dtype() != DType::i64) return NotMine{"an index that is not int64"};
  return or_not_mine(unlocked(tensors[0]->numel(),
                         [&] {
                           return laid_out_like(
                               one ? take_along(*self, first, *tensors[0], true) : take_points(*self, first, tensors),
                               *self, first, int64_t(tensors.size()), tensors);
                         }),
      kOutOfRange);
}

Outcome<Tensor> index_operator(const Tensor& self, OptionalTensorList indices) {
  const Tensor* mask = only_mask(indices);
  if (!mask) return index_at(self, indices);
  return or_not_mine(
      unlocked(self->numel(), [&] { return laid_out_like(take_masked(*self, **mask), *self, 0, (*mask)->dim(), {}); }),
      "a mask of other sizes");
}

Outcome<Tensor> masked_select(const Tensor& self, const Tensor& mask) {
  if (self->dim() != mask->dim()) return NotMine{"a mask of other sizes"};
  return or_not_mine(unlocked(self->numel(), [&] { return take_masked(*self, *mask); }), "a mask of other sizes");
}

Outcome<Tensor> nonzero_operator(const Tensor& self) {
  return or_not_mine(unlocked(self->numel(), [&] { return nonzero(*self); }), "a complex tensor, or one without dims");
}

}  // namespace shim
