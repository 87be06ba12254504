#include "cpu/indexing.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "cpu/parallel.h"

namespace shim {
namespace {

bool on_cpu(const TensorImpl& t) { return t.device().is_cpu(); }

// Pieces of `bytes` bytes, `count` for each of `outer` parts of the source: the i-th of a part from `at[i] * scale` in it.
struct Pieces {
  int64_t outer, count, bytes, step;
  const int64_t* at;
  int64_t scale;
};

template <class T> void copy_words(const Pieces& p, T* to, const char* from, int64_t begin, int64_t end) {
  while (begin < end) {  // part by part
    const int64_t part = begin / p.count, first = begin - part * p.count, last = std::min(p.count, first + end - begin);
    const char* source = from + part * p.step;
    for (int64_t i = first; i < last; ++i)
      to[part * p.count + i] = *reinterpret_cast<const T*>(source + p.at[i] * p.scale);
    begin += last - first;
  }
}

void copy_pieces(char* to, const char* from, const Pieces& p) {
  parallel_for(p.outer * p.count, std::max<int64_t>(1, 4 * kGrain / std::max<int64_t>(p.bytes, 1)),
      [&](int64_t begin, int64_t end) {
        switch (p.bytes) {
          case 1: return copy_words(p, reinterpret_cast<uint8_t*>(to), from, begin, end);
          case 2: return copy_words(p, reinterpret_cast<uint16_t*>(to), from, begin, end);
          case 4: return copy_words(p, reinterpret_cast<uint32_t*>(to), from, begin, end);
          case 8: return copy_words(p, reinterpret_cast<uint64_t*>(to), from, begin, end);
          default:
            for (int64_t i = begin; i < end; ++i)
              std::memcpy(to + i * p.bytes, from + i / p.count * p.step + p.at[i % p.count] * p.scale, size_t(p.bytes));
        }
      });
}

// The indices as int64 in [0, n), or false if one is outside.
template <class T> bool wrapped(const T* index, int64_t count, int64_t n, bool wraps, int64_t* out) {
  const int64_t low = wraps ? -n : 0;
  bool good = true;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = index[i];
    good &= v >= low && v < n;
    out[i] = v < 0 ? v + n : v;
  }
  return good;
}

bool read_index(const TensorImpl& index, int64_t n, bool wraps, std::vector<int64_t>& out) {
  if (!on_cpu(index)) return false;
  Tensor flat = packed(index);
  out.resize(size_t(index.numel()));
  if (index.dtype() == DType::i64) return wrapped(flat->data_as<int64_t>(), index.numel(), n, wraps, out.data());
  if (index.dtype() == DType::i32) return wrapped(flat->data_as<int32_t>(), index.numel(), n, wraps, out.data());
  return false;
}

}  // namespace

Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps) {
  const int n = self.dim();
  if (!on_cpu(self) || n == 0 || dim < -n || dim >= n) return {};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  std::vector<int64_t> at;
  if (!read_index(index, self.sizes()[d], wraps, at)) return {};
  Dims shape(self.sizes().begin(), self.sizes().begin() + long(d));
  shape.insert(shape.end(), index.sizes().begin(), index.sizes().end());
  shape.insert(shape.end(), self.sizes().begin() + long(d) + 1, self.sizes().end());
  Tensor out = empty(shape, self.dtype(), Device{});
  if (out->numel() == 0) return out;
  Tensor source = packed(self);
  const int64_t count = int64_t(at.size()),
                inner = product_of(self.sizes(), d + 1, size_t(n)) * int64_t(self.itemsize());
  const int64_t outer = product_of(self.sizes(), 0, d), step = self.sizes()[d] * inner;
  const char* from = static_cast<const char*>(source->data());
  char* to = static_cast<char*>(out->data());
  copy_pieces(to, from, {outer, count, inner, step, at.data(), inner});
  return out;
}

Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices) {
  const size_t n = size_t(self.dim()), p = size_t(first), many = indices.size();
  if (!on_cpu(self) || p + many > n) return {};
  Dims points;
  for (const Tensor& t : indices) {
    if (!on_cpu(*t) || t->dtype() != DType::i64) return {};
    try {
      points = broadcast_shapes(points, t->sizes());  // of no dims at first
    } catch (const Error&) {
      return {};  // the record's shape rule knows PyTorch's text
    }
  }
  const int64_t count = product(points);
  int64_t inner = product_of(self.sizes(), p + many, n) * int64_t(self.itemsize());
  std::vector<int64_t> places(static_cast<size_t>(count), 0), at;
  int64_t step = inner;
  const int64_t piece = inner;
  for (size_t k = many; k-- > 0;) {
    Tensor index = contiguous(expand(*indices[k], points));
    if (!read_index(*index, self.sizes()[p + k], true, at)) return {};
    for (size_t i = 0; i < places.size(); ++i) places[i] += at[i] * step;
    step *= self.sizes()[p + k];
  }
  Dims shape(self.sizes().begin(), self.sizes().begin() + long(p));
  shape.insert(shape.end(), points.begin(), points.end());
  shape.insert(shape.end(), self.sizes().begin() + long(p + many), self.sizes().end());
  Tensor out = empty(shape, self.dtype(), Device{});
  if (out->numel() == 0) return out;
  Tensor source = packed(self);
  copy_pieces(static_cast<char*>(out->data()), static_cast<const char*>(source->data()),
      {product_of(self.sizes(), 0, p), count, piece, step, places.data(), 1});
  return out;
}

Tensor take_masked(const TensorImpl& self, const TensorImpl& mask) {
  const size_t m = size_t(mask.dim()), n = size_t(self.dim());
  if (!on_cpu(self) || !on_cpu(mask) || mask.dtype() != DType::b8 || m == 0 || m > n) return {};
  if (!std::equal(mask.sizes().begin(), mask.sizes().end(), self.sizes().begin())) return {};
  Tensor chosen = packed(mask);
  const auto* bits = chosen->data_as<uint8_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) count += bits[i] != 0;
  Dims shape{count};
  shape.insert(shape.end(), self.sizes().begin() + long(m), self.sizes().end());
  Tensor out = empty(shape, self.dtype(), Device{});
  if (out->numel() == 0) return out;
  Tensor source = packed(self);
  const int64_t inner = product_of(self.sizes(), m, n) * int64_t(self.itemsize());
  const char* from = static_cast<const char*>(source->data());
  char* to = static_cast<char*>(out->data());
  // Elements of 4 and 8 bytes are written always and kept if chosen: no branch to mispredict. One place is left for the last of them.
  auto fixed = [&]<class T>(T) {
    auto* x = reinterpret_cast<const T*>(from);
    auto* y = reinterpret_cast<T*>(to);
    int64_t k = 0;
    for (int64_t i = 0; k < count; ++i) {
      y[k] = x[i];
      k += bits[i] != 0;
    }
  };
  if (inner == 4)
    fixed(uint32_t{});
  else if (inner == 8)
    fixed(uint64_t{});
  else
    for (int64_t i = 0; i < mask.numel(); ++i)
      if (bits[i]) std::memcpy(to, from + i * inner, size_t(inner)), to += inner;
  return out;
}

Tensor nonzero(const TensorImpl& self) {
  if (!on_cpu(self) || is_complex(self.dtype()) || self.dim() == 0) return {};
  Tensor own(const_cast<TensorImpl*>(&self));
  Tensor truth = self.dtype() == DType::b8 && self.is_contiguous() ? own : to_dtype(packed(self), DType::b8);
  const auto* bits = truth->data_as<uint8_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < self.numel(); ++i) count += bits[i] != 0;
  const int n = self.dim();
  Tensor out = empty(Dims{n, count}, DType::i64, Device{});  // a row for each dim, as what takes them apart wants it
  auto* to = out->data_as<int64_t>();
  if (n == 1) {
    for (int64_t i = 0, k = 0; k < count; ++i) {
      to[k] = i;
      k += bits[i] != 0;
    }
    return out;
  }
  Dims at(static_cast<size_t>(n), 0);
  for (int64_t i = 0, last = self.numel(); i < last; ++i) {
    if (bits[i]) {
      for (int d = 0; d < n; ++d) to[d * count] = at[size_t(d)];
      ++to;
    }
    for (size_t d = size_t(n); d-- > 0;) {
      if (++at[d] < self.sizes()[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

}  // namespace shim
