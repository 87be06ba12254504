#include "cuda/gather.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/gather_kernels.h"
#include "cuda/entries/gather.h"
#include "cuda/walk.h"
#include "ops/joining.h"

namespace shim::cuda {
namespace {

constexpr size_t kParts = 32, kManyParts = 128;  // of a launch

template <size_t count> struct Parts {
  const void* from[count];
  int64_t start[count], width[count];
};
struct Lines : Parts<kParts> {
  int64_t line[kParts], pitch[kParts];
};

// How t's elements lie: `line` neighbours, each line `pitch` after the one before. Zeros where they lie otherwise.
struct Pitched {
  int64_t line = 0, pitch = 0;
};
Pitched pitched(const TensorImpl& t) {
  if (t.has_math_bits()) return {};
  size_t d = size_t(t.dim());
  int64_t line = 1;
  while (d && (t.sizes()[d - 1] == 1 || t.strides()[d - 1] == line)) line *= t.sizes()[--d];
  if (!d) return {line, line};
  const int64_t pitch = t.strides()[d - 1];
  for (int64_t step = pitch; d; --d) {
    if (t.sizes()[d - 1] == 1) continue;
    if (t.strides()[d - 1] != step) return {};
    step *= t.sizes()[d - 1];
  }
  return {line, pitch};
}

// One launch: the parts, contiguous ones for E other than join_lines, from place *start of dim d on, which it moves on.
template <class E, size_t count>
bool join_parts(const Tensor& out, std::span<const Tensor> parts, size_t d, int64_t* start) {
  constexpr bool lines = std::is_same_v<E, entries::gather::join_lines>;
  std::conditional_t<lines, Lines, Parts<count>> all{};
  const IntArrayRef sizes = out->sizes();
  const int64_t outer = product_of(sizes, 0, d), item = int64_t(out->itemsize()),
                inner = product_of(sizes, d + 1, sizes.size()) * item;
  const int64_t row = sizes[d] * inner;
  int64_t most = 0;
  uint64_t places = uint64_t(row) | address_of(*out) | 16;
  for (const Tensor& t : parts) {
    places |= uint64_t(t->sizes()[d] * inner) | address_of(*t);
    if (lines) places |= uint64_t(pitched(*t).line * item) | uint64_t(pitched(*t).pitch * item);
  }
  const int64_t bytes = int64_t(places & ~(places - 1));
  size_t n = 0;
  for (const Tensor& t : parts) {
    const int64_t width = t->sizes()[d] * inner / bytes;
    all.from[n] = t->data();
    all.start[n] = *start * inner / bytes;
    all.width[n] = width;
    if constexpr (lines) {
      all.line[n] = pitched(*t).line * item / bytes;
      all.pitch[n] = pitched(*t).pitch * item / bytes;
    }
    ++n;
    most = std::max(most, width * outer);
    *start += t->sizes()[d];
  }
  const int device = out->device().index;
  const auto f = moving_kernel<E>(bytes, DType::i64, counts_wide(most), device);
  if (!f) return false;
  if (most) run_gather(f, most, int64_t(n), device, out->data(), outer, row / bytes, all);
  return true;
}

}  // namespace

Outcome<Tensor> cat(TensorList given, int64_t dim) {
  if (!kernels_ready()) return NotMine{"no CUDA kernels here"};
  const Outcome<Joined> joined = joined_of(given, dim);
  if (!joined) return joined.why();
  const TensorList tensors = joined->parts;
  const size_t d = joined->dim;
  Tensor out = empty(joined->sizes, joined->dtype, tensors[0]->device(), false, joined->format);
  if (!out->numel()) return out;
  const bool packed_all = std::ranges::all_of(tensors, [](const Tensor& t) { return t->is_contiguous(); });
  const bool lines = !packed_all && std::ranges::all_of(tensors, [](const Tensor& t) { return pitched(*t).line != 0; });
  if (joined->format != MemoryFormat::contiguous || joined->mixed ||
      (tensors.size() <= 4 && !packed_all && !lines)) {  // a copy of each anyway
    copy_parts(out, pointers_of(tensors), int64_t(d));
    return out;
  }
  using namespace entries::gather;
  int64_t start = 0;
  const size_t at_once = !lines && tensors.size() > kParts ? kManyParts : kParts;
  for (size_t begin = 0; begin < tensors.size(); begin += at_once) {
    std::vector<Tensor> parts;
    for (size_t i = begin; i < std::min(begin + at_once, tensors.size()); ++i)
      parts.push_back(lines ? tensors[i] : contiguous(tensors[i]));
    const bool done = lines              ? join_parts<join_lines, kParts>(out, parts, d, &start)
                      : at_once > kParts ? join_parts<join_many, kManyParts>(out, parts, d, &start)
                                         : join_parts<join, kParts>(out, parts, d, &start);
    if (!done) return NotMine{"a kernel that could not be compiled"};
  }
  return out;
}

Outcome<Tensor> stack(TensorList tensors, int64_t dim) { return stacked(tensors, dim, cat); }

Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps) {
  const int n = self.dim();
  if (!kernels_ready() || !index_dtype(index.dtype()) || index.device() != self.device() || n == 0 || dim < -n ||
      dim >= n)
    return {};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  Dims shape(self.sizes().begin(), self.sizes().begin() + long(d));
  shape.insert(shape.end(), index.sizes().begin(), index.sizes().end());
  shape.insert(shape.end(), self.sizes().begin() + long(d) + 1, self.sizes().end());
  Tensor out = empty(shape, self.dtype(), self.device());
  if (!out->numel()) return out;
  Tensor from = packed(self), at = packed(index);
  const int64_t item = int64_t(self.itemsize()), line = product_of(self.sizes(), d + 1, size_t(n)) * item;
  const int64_t bytes = common_word({uint64_t(line), address_of(*from), address_of(*out)});
  int64_t count = index.numel(), inner = line / bytes, total = out->numel() * item / bytes, size = self.sizes()[d],
          dim_step = inner, outer_step = size * inner;
  const int device = self.device().index;
  const auto f = moving_kernel<entries::gather::take>(bytes, index.dtype(), counts_wide(total), device);
  if (!f) return {};
  run_gather(f, total, 1, device, from->data(), out->data(), at->data(), count, inner, total, outer_step, dim_step,
      size, wraps);
  return out;
}

Tensor flat_keys(std::span<const Tensor> indices, IntArrayRef sizes) {
  constexpr size_t kIndices = 6;
  struct {
    const void* at[kIndices];
    int64_t size[kIndices];
    int count;
  } g{};
  if (!kernels_ready() || indices.empty() || indices.size() > kIndices) return {};
  Dims shape;
  for (const Tensor& t : indices) {
    if (t->dtype() != DType::i64 || t->device() != indices[0]->device()) return {};
    try {
      shape = broadcast_shapes(shape, t->sizes());
    } catch (const Error&) {
      return {};  // the record's shape rule knows PyTorch's text
    }
  }
  std::vector<Tensor> held;
  for (const Tensor& t : indices) {
    held.push_back(contiguous(expand(*t, shape)));
    g.at[g.count] = held.back()->data();
    g.size[g.count] = sizes[size_t(g.count)];
    ++g.count;
  }
  Tensor keys = empty(shape, DType::i64, indices[0]->device());
  int64_t n = keys->numel();
  const int device = keys->device().index;
  const auto f = moving_kernel<entries::gather::flatten>(8, DType::i64, counts_wide(n), device);
  if (!f) return {};
  if (n) run_gather(f, n, 1, device, keys->data(), n, g);
  return keys;
}

Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices) {
  const size_t n = size_t(self.dim()), p = size_t(first), many = indices.size();
  if (p + many > n || indices[0]->device() != self.device()) return {};
  Tensor keys = flat_keys(indices, self.sizes().subspan(p, many));
  if (!keys) return {};
  const Dims sizes{
      product_of(self.sizes(), 0, p), product_of(self.sizes(), p, p + many), product_of(self.sizes(), p + many, n)};
  Tensor rows = take_along(*view(*packed(self), sizes), 1, *view(*keys, Dims{keys->numel()}), false);
  if (!rows) return {};
  Dims shape(self.sizes().begin(), self.sizes().begin() + long(p));
  shape.insert(shape.end(), keys->sizes().begin(), keys->sizes().end());
  shape.insert(shape.end(), self.sizes().begin() + long(p + many), self.sizes().end());
  return view(*rows, shape);
}

Tensor gather(const TensorImpl& self, int64_t dim, const TensorImpl& index) {
  const int n = self.dim();
  if (!kernels_ready() || !index_dtype(index.dtype()) || index.device() != self.device() || n == 0 ||
      index.dim() != n || dim < -n || dim >= n)
    return {};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  Walk w;
  int64_t done = 1;
  for (size_t i = size_t(n); i-- > 0;) {
    if (i != d && index.sizes()[i] > self.sizes()[i]) return {};
    const int64_t steps[3] = {i == d ? 0 : self.strides()[i], index.strides()[i], done};
    if (!extend(w, index.sizes()[i], steps)) return {};
    done *= index.sizes()[i];
  }
  Tensor out = empty(index.sizes(), self.dtype(), self.device());
  int64_t total = out->numel(), dim_step = self.strides()[d], size = self.sizes()[d];
  const int device = self.device().index;
  const auto f =
      moving_kernel<entries::gather::gather>(int64_t(self.itemsize()), index.dtype(), counts_wide(total), device);
  if (!f) return {};
  if (!total) return out;
  run_gather(f, total, 1, device, self.data(), index.data(), out->data(), total, dim_step, size, w);
  return out;
}

Outcome<Tensor> take(const Tensor& self, const Tensor& index) {
  if (index->device() != self->device()) return NotMine{"tensors of several devices"};
  if (index->dtype() != DType::i64) return NotMine{"an index that is no int64"};
  if (!self->numel()) return NotMine{"no elements"};
  if (self->has_math_bits()) return NotMine{"negative or conjugate bits"};
  return or_not_mine(take_along(*view(*contiguous(self), Dims{self->numel()}), 0, *index, true),
      "no NVRTC, or a kernel that could not be compiled");
}

}  // namespace shim::cuda
