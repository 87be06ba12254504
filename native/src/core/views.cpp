// Views: new geometry over the same storage. Errors carry PyTorch's texts. History is the caller's.
#include <algorithm>

#include "core/extent.h"
#include "core/sparse.h"
#include "core/view_geometry.h"

namespace shim {

namespace {

Tensor same_storage(const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  auto v = Tensor(new TensorImpl(t.storage(), t.dtype(), sizes, strides, offset));
  auto& own = const_cast<TensorImpl&>(t).own_version();
  if (own) v->own_version() = own;
  v->is_inference = t.is_inference;
  v->is_conj = t.is_conj;
  v->is_neg = t.is_neg;
  return v;
}

}  // namespace

Tensor make_view(const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  CHECK(Kind::NotImplemented, !is_sparse(t),
      "Could not run 'aten::as_strided' with arguments from the 'SparseCPU' backend. This could be because the "
      "operator doesn't exist for this backend, or was omitted during the selective/custom "
      "build process (if using custom build).");
  return same_storage(t, sizes, strides, offset);
}

namespace {

// PyTorch makes most views by the check of their bounds; view() and those to other dtypes come without it.
Tensor make_checked_view(const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const Storage& memory = *t.storage();
  if (__builtin_expect(!memory.whole(), 0) && memory.shrunk() && !t.device().is_meta())
    check_within(memory, sizes, strides, offset, t.itemsize());
  return make_view(t, sizes, strides, offset);
}

}  // namespace

Tensor alias(const TensorImpl& t) { return same_storage(t, t.sizes(), t.strides(), t.storage_offset()); }

Tensor as_strided(const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  CHECK(Kind::Runtime, sizes.size() == strides.size(), "mismatch in length of strides and shape");
  for (int64_t s : strides)
    CHECK(Kind::Runtime, s >= 0,
        "as_strided: Negative strides are not supported at the moment, got strides: ", bracketed(strides));
  check_within(*t.storage(), sizes, strides, offset, t.itemsize());
  return make_view(t, sizes, strides, offset);
}

// Groups of old dims whose memory is one run are matched with groups of new dims of the same number of elements.
bool try_view_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef new_sizes, Dims& out) {
  out.assign(new_sizes.size(), 1);
  int64_t numel = product(sizes);
  if (sizes.empty()) return true;
  if (numel == 0) {
    if (std::ranges::equal(sizes, new_sizes))
      out.assign(strides.begin(), strides.end());
    else
      out = contiguous_strides(new_sizes);
    return true;
  }
  int64_t next = int64_t(new_sizes.size()) - 1, base = strides.back(), run = 1, placed = 1;
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    run *= sizes[size_t(d)];
    bool ends = d == 0 || (sizes[size_t(d) - 1] != 1 && strides[size_t(d) - 1] != run * base);
    if (!ends) continue;
    while (next >= 0 && (placed < run || new_sizes[size_t(next)] == 1)) {
      out[size_t(next)] = placed * base;
      placed *= new_sizes[size_t(next--)];
    }
    if (placed != run) return false;
    if (d > 0) {
      base = strides[size_t(d) - 1];
      run = placed = 1;
    }
  }
  return next < 0;
}

Tensor view(const TensorImpl& t, IntArrayRef shape) {
  Dims sizes = infer_size(shape, t.numel()), strides;
  if (t.is_contiguous() && t.numel() && std::ranges::find(t.sizes(), 1) == t.sizes().end())
    strides = contiguous_strides(sizes);
  else
    CHECK(Kind::Runtime, try_view_strides(t.sizes(), t.strides(), sizes, strides),
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). "
        "Use .reshape(...) instead.");
  return make_view(t, sizes, strides, t.storage_offset());
}

Tensor transpose(const TensorImpl& t, int64_t d0, int64_t d1) {
  d0 = wrap_dim(d0, t.dim());
  d1 = wrap_dim(d1, t.dim());
  if (t.dim() == 0) return alias(t);
  ViewGeometry g(t);
  std::swap(g.sizes[size_t(d0)], g.sizes[size_t(d1)]);
  std::swap(g.strides[size_t(d0)], g.strides[size_t(d1)]);
  return make_checked_view(t, g.sizes, g.strides, t.storage_offset());
}

Tensor permute(const TensorImpl& t, IntArrayRef dims) {
  CHECK(Kind::Runtime, dims.size() == size_t(t.dim()),
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
      "desired ordering of dimensions i.e. input.dim() = ",
      t.dim(), " is not equal to len(dims) = ", dims.size());
  Dims sizes(dims.size()), strides(dims.size());
  std::vector<bool> seen(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t d = size_t(wrap_dim(dims[i], t.dim()));
    CHECK(Kind::Runtime, !seen[d], "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    sizes[i] = t.sizes_data()[d];
    strides[i] = t.strides_data()[d];
  }
  return make_checked_view(t, sizes, strides, t.storage_offset());
}

Tensor expand(const TensorImpl& t, IntArrayRef target) {
  CHECK(Kind::Runtime, target.size() >= size_t(t.dim()), "expand(torch.", scalar_name(t.dtype()), "Tensor{",
      bracketed(t.sizes()), "}, size=", bracketed(target), "): the number of sizes provided (", target.size(),
      ") must be greater or equal to the number of dimensions in the tensor (", t.dim(), ")");
  Dims sizes(target.size()), strides(target.size());
  const int64_t extra = int64_t(target.size()) - t.dim(), none = t.dim() ? 1 : 0;  // a number's strides are all 0
  for (int64_t i = int64_t(target.size()) - 1; i >= 0; --i) {
    int64_t old = i >= extra ? t.sizes_data()[i - extra] : 1, wanted = target[size_t(i)];
    int64_t stride = i >= extra ? t.strides_data()[i - extra]
                                : (size_t(i) + 1 < sizes.size() ? sizes[size_t(i) + 1] * strides[size_t(i) + 1] : none);
    if (wanted == -1) {
      CHECK(Kind::Runtime, i >= extra,
          "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", i);
      wanted = old;
    }
    CHECK(Kind::Runtime, wanted >= 0, "The expanded size of the tensor (", wanted, ") isn't allowed");
    if (old != wanted) {
      CHECK(Kind::Runtime, old == 1, "The expanded size of the tensor (", wanted, ") must match the existing size (",
          old, ") at non-singleton dimension ", i, ".  Target sizes: ", bracketed(target),
          ".  Tensor sizes: ", bracketed(t.sizes()));
      stride = 0;
    }
    sizes[size_t(i)] = wanted;
    strides[size_t(i)] = stride;
  }
  return make_checked_view(t, sizes, strides, t.storage_offset());
}

Tensor squeeze(const TensorImpl& t) {
  Dims all(size_t(t.dim()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = int64_t(i);
  return squeeze(t, all);
}

Tensor squeeze(const TensorImpl& t, IntArrayRef dims) {
  std::vector<bool> drop(size_t(std::max(t.dim(), 1)));
  for (int64_t d : dims) {
    size_t w = size_t(wrap_dim(d, t.dim()));
    CHECK(Kind::Runtime, !drop[w], "dim ", w, " appears multiple times in the list of dims");
    drop[w] = true;
  }
  Dims sizes, strides;
  for (size_t i = 0; i < size_t(t.dim()); ++i) {
    if (drop[i] && t.sizes_data()[i] == 1) continue;
    sizes.push_back(t.sizes_data()[i]);
    strides.push_back(t.strides_data()[i]);
  }
  return make_checked_view(t, sizes, strides, t.storage_offset());
}

Tensor unsqueeze(const TensorImpl& t, int64_t dim) {
  dim = wrap_dim(dim, t.dim() + 1);
  ViewGeometry g(t);
  int64_t stride = dim >= t.dim() ? 1 : g.sizes[size_t(dim)] * g.strides[size_t(dim)];
  g.sizes.insert(g.sizes.begin() + dim, 1);
  g.strides.insert(g.strides.begin() + dim, stride);
  return make_checked_view(t, g.sizes, g.strides, t.storage_offset());
}

Tensor select(const TensorImpl& t, int64_t dim, int64_t index) {
  CHECK(Kind::Index, t.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, t.dim());
  int64_t n = t.sizes_data()[dim];
  CHECK(Kind::Index, index >= -n && index < n, "select(): index ", index, " out of range for tensor of size ",
      bracketed(t.sizes()), " at dimension ", dim);
  if (index < 0) index += n;
  ViewGeometry g(t);
  int64_t offset = t.storage_offset() + index * g.strides[size_t(dim)];
  g.sizes.erase(g.sizes.begin() + dim);
  g.strides.erase(g.strides.begin() + dim);
  return make_checked_view(t, g.sizes, g.strides, offset);
}

Tensor slice(const TensorImpl& t, int64_t dim, int64_t start, int64_t end, int64_t step) {
  CHECK(Kind::Runtime, t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, t.dim());
  CHECK(Kind::Runtime, step > 0, "slice step must be positive");
  ViewGeometry g(t);
  int64_t n = g.sizes[size_t(dim)];
  auto clip = [n](int64_t i, int64_t least) { return std::clamp(i < 0 ? i + n : i, least, n); };
  start = clip(start, 0);
  end = clip(end, start);
  if (end < start) end = start;
  int64_t offset = t.storage_offset() + start * g.strides[size_t(dim)];
  g.sizes[size_t(dim)] = (end - start) / step + ((end - start) % step != 0);
  (void)__builtin_mul_overflow(
      g.strides[size_t(dim)], step, &g.strides[size_t(dim)]);  // where it wraps around there is one element at most
  return make_checked_view(t, g.sizes, g.strides, offset);
}

Tensor narrow(const TensorImpl& t, int64_t dim, int64_t start, int64_t length) {
  CHECK(Kind::Runtime, t.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  CHECK(Kind::Runtime, length >= 0, "narrow(): length must be non-negative.");
  dim = wrap_dim(dim, t.dim());
  int64_t n = t.sizes_data()[dim];
  CHECK(Kind::Index, start >= -n && start <= n, "start out of range (expected to be in range of [", -n, ", ", n,
      "], but got ", start, ")");
  if (start < 0) start += n;
  CHECK(Kind::Runtime, start <= n - length, "start (", start, ") + length (", length, ") exceeds dimension size (", n,
      ").");
  return slice(t, dim, start, start + length, 1);
}

Tensor unfold(const TensorImpl& t, int64_t dim, int64_t size, int64_t step) {
  dim = wrap_dim(dim, t.dim());
  ViewGeometry g(t);
  int64_t n = t.dim() ? g.sizes[size_t(dim)] : 1, stride = t.dim() ? g.strides[size_t(dim)] : 1;
  CHECK(Kind::Runtime, size >= 0, "size is ", size, " but must be >= 0");
  CHECK(Kind::Runtime, size <= n, "maximum size for tensor at dimension ", dim, " is ", n, " but size is ", size);
  CHECK(Kind::Runtime, step > 0, "step is ", step, " but must be > 0");
  if (t.dim()) {
    g.sizes[size_t(dim)] = (n - size) / step + 1;
    (void)__builtin_mul_overflow(stride, step, &g.strides[size_t(dim)]);  // where it wraps around there is one window
  }
  g.sizes.push_back(size);
  g.strides.push_back(stride);
  return make_checked_view(t, g.sizes, g.strides, t.storage_offset());
}

Tensor diagonal(const TensorImpl& t, int64_t shift, int64_t dim1, int64_t dim2) {
  const int64_t d1 = wrap_dim(dim1, t.dim()), d2 = wrap_dim(dim2, t.dim());
  CHECK(Kind::Runtime, d1 != d2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  ViewGeometry g(t);
  int64_t n1 = g.sizes[size_t(d1)], n2 = g.sizes[size_t(d2)], s1 = g.strides[size_t(d1)], s2 = g.strides[size_t(d2)];
  int64_t length = std::max<int64_t>(shift >= 0 ? std::min(n1, n2 - shift) : std::min(n1 + shift, n2), 0);
  int64_t offset = t.storage_offset();
  if (length) offset += shift >= 0 ? shift * s2 : -shift * s1;
  for (int64_t d : {std::max(d1, d2), std::min(d1, d2)}) {
    g.sizes.erase(g.sizes.begin() + d);
    g.strides.erase(g.strides.begin() + d);
  }
  g.sizes.push_back(length);
  g.strides.push_back(s1 + s2);
  return make_checked_view(t, g.sizes, g.strides, offset);
}

}  // namespace shim
