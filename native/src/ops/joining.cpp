#include "ops/joining.h"

#include <algorithm>
#include <iterator>

namespace shim {

namespace {

constexpr NotMine kNoSuchDimToJoin{"a dim out of range"};

// The tensors with a dim of size 1 at *dim, which becomes what it is from the front.
Outcome<std::vector<Tensor>> unsqueezed(TensorList tensors, int64_t* dim) {
  if (tensors.empty()) return NotMine{"no tensors"};
  const int64_t dims = tensors[0]->dim() + 1;
  if (*dim < -dims || *dim >= dims) return kNoSuchDimToJoin;
  if (*dim < 0) *dim += dims;
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    if (t->dim() + 1 != dims) return NotMine{"tensors of other dims"};
    parts.push_back(unsqueeze(*t, *dim));
  }
  return parts;
}

}  // namespace

Outcome<Joined> joined_of(TensorList tensors, int64_t dim) {
  if (tensors.empty()) return NotMine{"no tensors"};
  Joined r;
  r.parts = tensors;
  r.dtype = tensors[0]->dtype();
  const auto counts = [](const Tensor& t) { return t->dim() != 1 || t->numel(); };
  for (const Tensor& t : tensors) {
    if (t->device() != tensors[0]->device()) return NotMine{"tensors of two devices"};
    if (t->dtype() != r.dtype) r.dtype = promote(r.dtype, t->dtype());
  }
  if (!std::ranges::all_of(tensors, counts)) {
    std::ranges::copy_if(tensors, std::back_inserter(r.kept), counts);
    if (r.kept.empty()) r.kept.push_back(tensors[0]);
    r.parts = r.kept;
  }
  const TensorImpl& first = *r.parts[0];
  const int n = first.dim();
  if (n == 0 || dim < -n || dim >= n) return kNoSuchDimToJoin;
  r.dim = size_t(dim < 0 ? dim + n : dim);
  int64_t total = 0;
  for (const Tensor& t : r.parts) {
    if (t->dim() != n) return NotMine{"tensors of other dims"};
    for (size_t i = 0; i < size_t(n); ++i)
      if (i != r.dim && t->sizes()[i] != first.sizes()[i]) return NotMine{"sizes that do not match"};
    r.mixed = r.mixed || t->dtype() != r.dtype;
    total += t->sizes()[r.dim];
    r.elements += t->numel();
  }
  r.sizes.assign(first.sizes().begin(), first.sizes().end());
  r.sizes[r.dim] = total;
  r.format = common_memory_format(pointers_of(r.parts));
  return r;
}

Outcome<Tensor> stacked(TensorList tensors, int64_t dim, Outcome<Tensor> (*cat)(TensorList, int64_t)) {
  // Images in channels last are joined as images, so that along the first two dims the result has their order.
  const int64_t dims = tensors.empty() ? 0 : tensors[0]->dim();
  if (dims > 3 && (dim == 0 || dim == 1) && suggest_memory_format(*tensors[0]) != MemoryFormat::contiguous) {
    for (const Tensor& t : tensors)
      if (!std::ranges::equal(t->sizes(), tensors[0]->sizes())) return NotMine{"tensors of other sizes"};
    const Outcome<Tensor> joined = cat(tensors, dim);
    if (!joined) return joined.why();
    Dims sizes(tensors[0]->sizes().begin(), tensors[0]->sizes().end());
    sizes.insert(sizes.begin() + dim, int64_t(tensors.size()));
    return view(**joined, sizes);
  }
  Outcome<std::vector<Tensor>> parts = unsqueezed(tensors, &dim);
  if (!parts) return parts.why();
  return cat(*parts, dim);
}

}  // namespace shim
