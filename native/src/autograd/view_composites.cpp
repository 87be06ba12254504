#include "autograd/view_composites.h"

#include <algorithm>

#include "autograd/autograd.h"

namespace shim {
namespace {

constexpr NotMine kNoSuchDim{"a dim out of range"};

inline Tensor marked(Tensor view, const Tensor& base) {
  if (!InferenceMode::enabled()) mark_view(view, base);
  return view;
}

// Makes a dim that counts from the end one that counts from the front; false: there is no such dim.
inline bool counted_from_front(const Tensor& self, int64_t* dim) {
  const int64_t dims = self->dim();
  if (*dim < -dims || *dim >= dims) return false;
  if (*dim < 0) *dim += dims;
  return true;
}

std::vector<Tensor> pieces(const Tensor& self, int64_t dim, int64_t size) {
  const int64_t all = self->sizes()[size_t(dim)];
  std::vector<Tensor> parts;
  parts.reserve(size_t((all - 1) / size + 1));
  for (int64_t at = 0; at < all; at += size)
    parts.push_back(marked(slice(*self, dim, at, at + std::min(size, all - at), 1), self));
  return parts;
}

}  // namespace

Outcome<std::vector<Tensor>> split(const Tensor& self, int64_t split_size, int64_t dim) {
  if (!counted_from_front(self, &dim)) return kNoSuchDim;
  if (split_size < 1 || split_size == INT64_MAX) return NotMine{"pieces without a size"};
  if (!self->sizes()[size_t(dim)]) return NotMine{"a dim of size 0"};
  return pieces(self, dim, split_size);
}

Outcome<std::vector<Tensor>> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  if (!counted_from_front(self, &dim)) return kNoSuchDim;
  if (chunks < 1 || chunks == INT64_MAX) return NotMine{"no number of chunks"};
  const int64_t all = self->sizes()[size_t(dim)];
  if (!all) return NotMine{"a dim of size 0"};
  return pieces(self, dim, (all + chunks - 1) / chunks);
}

Outcome<std::vector<Tensor>> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  if (!counted_from_front(self, &dim)) return kNoSuchDim;
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    if (size < 0) return NotMine{"a negative size"};
    total += size;
  }
  if (total != self->sizes()[size_t(dim)]) return NotMine{"sizes that do not add up to the dim's"};
  std::vector<Tensor> parts;
  parts.reserve(split_sizes.size());
  int64_t start = 0;
  for (int64_t size : split_sizes) {
    parts.push_back(marked(slice(*self, dim, start, start + size, 1), self));
    start += size;
  }
  return parts;
}

Outcome<std::vector<Tensor>> unbind(const Tensor& self, int64_t dim) {
  if (!counted_from_front(self, &dim)) return kNoSuchDim;
  const int64_t count = self->sizes()[size_t(dim)];
  std::vector<Tensor> parts;
  parts.reserve(size_t(count));
  for (int64_t i = 0; i < count; ++i) parts.push_back(marked(select(*self, dim, i), self));
  return parts;
}

Outcome<Tensor> narrow_view(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  if (!counted_from_front(self, &dim)) return kNoSuchDim;
  if (start < 0 || length < 0) return NotMine{"a start that counts from the end, or no length"};
  return marked(narrow(*self, dim, start, length), self);
}

Outcome<Tensor> reshape(const Tensor& self, IntArrayRef shape) {
  const Dims sizes = infer_size(shape, self->numel());
  if (!self->is_contiguous())
    if (Dims strides; !try_view_strides(self->sizes(), self->strides(), sizes, strides))
      return NotMine{"strides that no view has"};
  return marked(view(*self, sizes), self);
}

Outcome<Tensor> flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  if (!self->dim()) return NotMine{"no dims"};
  if (!self->is_contiguous()) return NotMine{"a tensor that is not contiguous"};
  if (!counted_from_front(self, &start_dim) || !counted_from_front(self, &end_dim)) return kNoSuchDim;
  if (start_dim > end_dim) return NotMine{"a start after the end"};
  if (start_dim == end_dim) return self;
  const IntArrayRef all = self->sizes();
  Dims sizes(all.begin(), all.begin() + start_dim);
  sizes.push_back(product_of(all, size_t(start_dim), size_t(end_dim + 1)));
  sizes.insert(sizes.end(), all.begin() + end_dim + 1, all.end());
  return marked(view(*self, sizes), self);
}

}  // namespace shim
