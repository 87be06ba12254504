// The operators that are reductions.
#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/reduce.h"

namespace shim {
namespace {

Outcome<Tensor> reduced_by(
    Reduction op, const Tensor& self, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  // The interpreter's lock is held where CUDA's current stream is asked for.
  const UnlockedWork others_run(self->device().is_cpu() ? self->numel() : 0);
  return reduced_over(op, self, dims, keepdim, dtype.value_or(DType::undefined));
}

}  // namespace

Outcome<Tensor> reduce_all(Registered<Reduction> op, const Tensor& self, std::optional<DType> dtype) {
  return reduced_by(*op, self, {}, false, dtype);
}

Outcome<Tensor> reduce_dims(Registered<Reduction> op, const Tensor& self, std::optional<IntArrayRef> dims, bool keepdim,
    std::optional<DType> dtype) {
  if (dims && dims->empty() && (*op == Reduction::any || *op == Reduction::all)) return NotMine{"no dims, not all"};
  return reduced_by(*op, self, dims.value_or(IntArrayRef{}), keepdim, dtype);
}

Outcome<Tensor> reduce_dim(
    Registered<Reduction> op, const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return reduced_by(*op, self, {&dim, 1}, keepdim, dtype);
}

Outcome<Tensor> diagonal_sum(const Tensor& self) {
  if (self->dim() != 2) return NotMine{"a tensor that has not two dims"};
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch refuses"};
  const IntArrayRef sizes = self->sizes(), strides = self->strides();
  const Tensor diagonal =
      as_strided(*self, Dims{std::min(sizes[0], sizes[1])}, Dims{strides[0] + strides[1]}, self->storage_offset());
  return reduced_over(Reduction::sum, diagonal, {}, false, DType::undefined);
}

Tensor sum_to_size(const Tensor& self, IntArrayRef sizes) {
  if (std::equal(sizes.begin(), sizes.end(), self->sizes().begin(), self->sizes().end())) return self;
  const int64_t lead = self->dim() - int64_t(sizes.size());
  CHECK(Kind::Runtime, lead >= 0, "size {", sizes.size(), "} is not expandable to size {", self->dim(), "}.");
  Dims dims;
  for (int64_t d = 0; d < self->dim(); ++d)
    if (d < lead || (sizes[size_t(d - lead)] == 1 && self->sizes()[size_t(d)] != 1)) dims.push_back(d);
  if (dims.empty()) return self;
  Tensor summed = reduce(Reduction::sum, self, dims, true, self->dtype());
  return summed ? view(*summed, sizes) : Tensor{};
}

}  // namespace shim
