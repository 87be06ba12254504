#include "core/checked.h"
#include "cpu/padding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/types.h"
#include "cpu/window_settings.h"

namespace shim {
namespace {

// Whether the mode reaches so far.
bool reaches(int64_t size, int64_t before, int64_t after, Padding mode) {
  if (size == 0 || checked_sum({size, after, before}) < 1) return false;
  if (mode == Padding::reflect && (before >= size || after >= size)) return false;
  return mode != Padding::circular || (before <= size && after <= size && before >= 0 && after >= 0);
}

// Where each place along a dim reads.
std::vector<int64_t> source_indices(int64_t size, int64_t before, int64_t after, Padding mode) {
  std::vector<int64_t> indices;
  for (int64_t i = -before; i < size + after; ++i) {
    int64_t p = i;
    if (mode == Padding::reflect)
      p = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    else if (mode == Padding::replicate)
      p = std::clamp<int64_t>(i, 0, size - 1);
    else
      p = (i + size) % size;
    indices.push_back(p);
  }
  return indices;
}

// Elements [first, last) of a row lie in the input as they do here.
struct Run {
  int64_t first = 0, last = 0;
};
Run longest_run(const std::vector<int64_t>& indices) {
  Run best, now;
  for (int64_t i = 0; i < int64_t(indices.size()); ++i) {
    if (i == 0 || indices[size_t(i)] != indices[size_t(i - 1)] + 1) now.first = i;
    now.last = i + 1;
    if (now.last - now.first > best.last - best.first) best = now;
  }
  return best;
}

template <class T> void copy_row(const T* from, T* to, const std::vector<int64_t>& indices, Run run) {
  if (indices.empty()) return void(std::memcpy(to, from, size_t(run.last) * sizeof(T)));  // a whole row
  for (int64_t i = 0; i < run.first; ++i) to[i] = from[indices[size_t(i)]];
  std::memcpy(to + run.first, from + indices[size_t(run.first)], size_t(run.last - run.first) * sizeof(T));
  for (int64_t i = run.last; i < int64_t(indices.size()); ++i) to[i] = from[indices[size_t(i)]];
}

template <class T>
void copy_rows(
    const T* from, T* to, IntArrayRef sizes, IntArrayRef shape, const std::vector<std::vector<int64_t>>& indices) {
  const size_t last = sizes.size() - 1;
  const Run run = indices[last].empty() ? Run{0, sizes[last]} : longest_run(indices[last]);
  const int64_t rows = product_of(shape, 0, last), width = shape[last];
  parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t left = row, start = 0, step = sizes[last];
      for (size_t d = last; d-- > 0; left /= shape[d]) {
        const int64_t at = left % shape[d];
        start += (indices[d].empty() ? at : indices[d][size_t(at)]) * step;
        step *= sizes[d];
      }
      copy_row(from + start, to + row * width, indices[last], run);
    }
  });
}

MemoryFormat format_of(const TensorImpl& t) {
  return t.is_contiguous() ? MemoryFormat::contiguous : MemoryFormat::channels_last;
}

constexpr NotMine kUnsuited{"places that do not suit the input"};

Outcome<Tensor> padded_with(const Tensor& self, IntArrayRef pad, Scalar value) {
  const size_t n = size_t(self->dim());
  Dims shape(self->sizes().begin(), self->sizes().end());
  if (pad.size() % 2 || pad.size() / 2 > n) return kUnsuited;
  for (size_t i = 0; i < pad.size() / 2; ++i)
    if ((shape[n - 1 - i] = checked_sum({shape[n - 1 - i], pad[2 * i], pad[2 * i + 1]})) < 0) return kUnsuited;
  const Tensor out = empty(shape, self->dtype(), Device{}, false, format_of(*self));
  fill_(out, value);
  Tensor from = self, to = out;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t d = int64_t(n - 1 - i), start = -std::min<int64_t>(pad[2 * i], 0),
                  length = checked_sum({self->sizes()[size_t(d)], -start, std::min<int64_t>(pad[2 * i + 1], 0)});
    if (length < 0) return kUnsuited;
    from = narrow(*from, d, start, length);
    to = narrow(*to, d, std::max<int64_t>(pad[2 * i], 0), length);
  }
  copy_(to, from);
  return out;
}

Outcome<Tensor> continued(const Tensor& self, IntArrayRef pad, Padding mode) {
  const size_t n = size_t(self->dim()), many = pad.size() / 2;
  if (pad.size() % 2 || many == 0 || (n != many + 1 && n != many + 2) || self->numel() == 0) return kUnsuited;
  Dims shape(self->sizes().begin(), self->sizes().end());
  std::vector<std::vector<int64_t>> indices(n);
  for (size_t i = 0; i < many; ++i) {
    const size_t d = n - 1 - i;
    if (!reaches(shape[d], pad[2 * i], pad[2 * i + 1], mode)) return kUnsuited;
    shape[d] = checked_sum({shape[d], pad[2 * i], pad[2 * i + 1]});
  }
  const MemoryFormat format = format_of(*self);
  // First: too large a result fails before its places are listed.
  const Tensor out = empty(shape, self->dtype(), Device{}, false, format);
  for (size_t i = 0; i < many; ++i)
    indices[n - 1 - i] = source_indices(self->sizes()[n - 1 - i], pad[2 * i], pad[2 * i + 1], mode);
  Dims sizes(self->sizes().begin(), self->sizes().end());
  if (format == MemoryFormat::channels_last)  // rows of channels, which stay what they are
    for (size_t d = 1; d + 1 < n; ++d)
      std::swap(sizes[d], sizes[d + 1]), std::swap(shape[d], shape[d + 1]), std::swap(indices[d], indices[d + 1]);
  return or_not_mine(
      of_size<Tensor>(self->itemsize(),
          [&]<class T>(T) {
            copy_rows(static_cast<const T*>(self->data()), static_cast<T*>(out->data()), sizes, shape, indices);
            return out;
          }),
      "elements of 16 bytes");
}

// Another order of dims than theirs is the bodies' work to keep.
constexpr NotMine kNotInOrder{
    "tensors that are neither contiguous nor in channels last, or have conjugate or negative bits"};
bool in_order(const TensorImpl& t) { return (t.is_contiguous() || lies_in_lines(t)) && !t.has_math_bits(); }

}  // namespace

Outcome<Tensor> pad_with(const Tensor& self, IntArrayRef places, Scalar value) {
  if (!in_order(*self)) return kNotInOrder;
  if (value.type == Scalar::Complex) return NotMine{"a complex number"};
  if (value.type == Scalar::Float && !is_floating(self->dtype())) return NotMine{"a float among whole numbers"};
  check_fits(value, self->dtype());
  return unlocked(self->numel(), [&] { return padded_with(self, places, value); });
}

Outcome<Tensor> pad_from_itself(const Tensor& self, IntArrayRef places, Padding mode) {
  if (!in_order(*self) || (mode == Padding::circular && !self->is_contiguous())) return kNotInOrder;
  if (self->dtype() == DType::b8) return NotMine{"bool tensors"};
  return unlocked(self->numel(), [&] { return continued(self, places, mode); });
}

Outcome<Tensor> pad(const Tensor& self, IntArrayRef places, std::string_view mode, std::optional<Scalar> value) {
  if (mode == "constant") return pad_with(self, places, value.value_or(Scalar{Scalar::Int, 0}));
  if (value) return NotMine{"a value of a mode that has none"};
  if (mode == "reflect") return pad_from_itself(self, places, Padding::reflect);
  if (mode == "replicate") return pad_from_itself(self, places, Padding::replicate);
  if (mode == "circular") return pad_from_itself(self, places, Padding::circular);
  return NotMine{"a mode that there is not"};
}

}  // namespace shim
