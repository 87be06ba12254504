// In which order the dims of an indexed result lie in memory.
#include "ops/index_layout.h"

#include <algorithm>

namespace shim {
namespace {

// Those of an index seen with a dim of size 1 for every dim that is not the indices'; 0 where it is spread.
Dims spread_strides(const TensorImpl& index, IntArrayRef sizes, size_t first, size_t inside) {
  const Tensor whole = expand(index, sizes.subspan(first, inside));
  Dims seen(sizes.size(), 1), strides;
  std::copy_n(whole->sizes_data(), inside, seen.begin() + int64_t(first));
  if (!try_view_strides(whole->sizes(), whole->strides(), seen, strides)) strides = contiguous_strides(seen);
  for (size_t d = 0; d < seen.size(); ++d)
    if (seen[d] == 1 && sizes[d] != 1) strides[d] = 0;
  return strides;
}

}  // namespace

Dims indexed_strides(IntArrayRef sizes, IntArrayRef kept_strides, int64_t first, std::span<const Tensor> indices) {
  const size_t inside = sizes.size() - kept_strides.size(), at = size_t(first);
  std::vector<Dims> operands{Dims(kept_strides.begin(), kept_strides.end())};
  operands[0].insert(operands[0].begin() + first, inside, 0);
  for (const Tensor& index : indices) operands.push_back(spread_strides(*index, sizes, at, inside));
  return dense_strides(sizes, operands);
}

Tensor laid_out_like(
    Tensor result, const TensorImpl& self, int64_t first, int64_t taken, std::span<const Tensor> indices) {
  auto plain = [](const Tensor& t) { return t->is_contiguous(); };
  if (!result || (self.is_contiguous() && std::all_of(indices.begin(), indices.end(), plain))) return result;
  Dims kept(self.strides().begin(), self.strides().end());
  kept.erase(kept.begin() + first, kept.begin() + first + taken);
  const Dims strides = indexed_strides(result->sizes(), kept, first, indices);
  if (std::ranges::equal(strides, result->strides())) return result;
  Tensor out = empty_strided(result->sizes(), strides, result->dtype(), result->device());
  copy_(out, result);
  return out;
}

Outcome<NeighbouringIndices> neighbouring(OptionalTensorList indices) {
  NeighbouringIndices found;
  size_t count = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (!count) found.first = int64_t(i), found.one = &*indices[i];
    if (size_t(found.first) + count++ != i) return NotMine{"indices of dims that are no neighbours"};
  }
  if (!count) return NotMine{"no index"};
  if (count == 1) return found;
  found.one = nullptr;
  for (size_t i = 0; i < count; ++i) found.several.push_back(*indices[size_t(found.first) + i]);
  return found;
}

const Tensor* only_mask(OptionalTensorList indices) {
  const bool one = indices.size() == 1 && indices[0] && (*indices[0])->dtype() == DType::b8;
  return one ? &*indices[0] : nullptr;
}

}  // namespace shim
