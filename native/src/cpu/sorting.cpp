#include "cpu/sorting.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/types.h"
#include "ops/kernels.h"

namespace shim {
namespace {

// An unsigned number of the same order as the element. -0 and 0 are equal, and so are all NaNs, above everything.
template <class U>
U flipped_sign(U bits) { return bits ^ (U(1) << (sizeof(U) * 8 - 1)); }
template <class U>
U float_order(U bits, U infinity) {
  constexpr U kSign = U(1) << (sizeof(U) * 8 - 1);
  const U size = bits & U(~kSign);
  if (size > infinity) return U(~U(0));
  if (size == 0) return kSign;
  return bits & kSign ? U(~bits) : U(bits | kSign);
}
inline uint8_t key_of(Bool x) { return x.v != 0; }
inline uint8_t key_of(uint8_t x) { return x; }
inline uint8_t key_of(int8_t x) { return flipped_sign(uint8_t(x)); }
inline uint16_t key_of(int16_t x) { return flipped_sign(uint16_t(x)); }
inline uint32_t key_of(int32_t x) { return flipped_sign(uint32_t(x)); }
inline uint64_t key_of(int64_t x) { return flipped_sign(uint64_t(x)); }
inline uint16_t key_of(Half x) { return float_order<uint16_t>(x.bits, 0x7c00); }
inline uint16_t key_of(BFloat16 x) { return float_order<uint16_t>(x.bits, 0x7f80); }
inline uint32_t key_of(float x) { return float_order<uint32_t>(std::bit_cast<uint32_t>(x), 0x7f800000); }
inline uint64_t key_of(double x) { return float_order<uint64_t>(std::bit_cast<uint64_t>(x), 0x7ff0000000000000); }

template <class K>
struct Item { K key; uint32_t at; };

constexpr int64_t kShort = 256;                 // rows shorter than this are sorted by comparison

// Sorts by key, keeping the order of equal ones: one pass a byte, from the lowest; a byte that all keys share is skipped.
template <class K>
void radix_sort(std::vector<Item<K>>& items, std::vector<Item<K>>& spare) {
  constexpr int kBytes = sizeof(K);
  const size_t n = items.size();
  std::vector<uint32_t> counts(256 * kBytes, 0);
  for (const Item<K>& i : items)
    for (int b = 0; b < kBytes; ++b) ++counts[size_t(b) * 256 + size_t((i.key >> (8 * b)) & 255)];
  spare.resize(n);
  for (int b = 0; b < kBytes; ++b) {
    uint32_t* count = counts.data() + size_t(b) * 256;
    if (count[(items[0].key >> (8 * b)) & 255] == n) continue;
    uint32_t start = 0;
    for (int v = 0; v < 256; ++v) start += std::exchange(count[v], start);
    for (const Item<K>& i : items) spare[count[(i.key >> (8 * b)) & 255]++] = i;
    items.swap(spare);
  }
}

// Rows of the last dim: contiguous, copied together where they are not.
struct Rows { Tensor data; int64_t rows = 0, cols = 0; bool moved = false; int64_t dim = 0; };

bool rows_of(const Tensor& self, int64_t dim, Rows* r) {
  const int64_t n = self->dim();
  if (!self->device().is_cpu() || n == 0 || dim < -n || dim >= n) return false;
  r->dim = dim < 0 ? dim + n : dim;
  r->moved = r->dim != n - 1;
  r->data = contiguous(r->moved ? transpose(*self, r->dim, n - 1) : self);
  r->cols = self->sizes()[size_t(r->dim)];
  r->rows = r->cols ? self->numel() / r->cols : 0;
  return r->cols < (int64_t(1) << 32);
}

Tensor moved_back(const Rows& r, const Tensor& t) { return r.moved ? contiguous(transpose(*t, r.dim, t->dim() - 1)) : t; }

// f(items, row) for each row, items holding its keys (inverted where the largest come first) and places.
template <class T, class F>
void each_row(const Rows& r, bool inverted, F&& f) {
  using K = decltype(key_of(T{}));
  const T* x = r.data->data_as<T>();
  parallel_for(r.rows, std::max<int64_t>(1, kGrain / (8 * std::max<int64_t>(r.cols, 1))), [&](int64_t begin, int64_t end) {
    std::vector<Item<K>> items, spare;
    for (int64_t row = begin; row < end; ++row) {
      const T* from = x + row * r.cols;
      items.resize(size_t(r.cols));
      for (int64_t i = 0; i < r.cols; ++i) items[size_t(i)] = {inverted ? K(~key_of(from[i])) : key_of(from[i]), uint32_t(i)};
      f(items, spare, row, from);
    }
  });
}

template <class T>
void write_row(const auto& items, int64_t count, const T* from, int64_t* index, T* values) {
  for (int64_t i = 0; i < count; ++i) {
    index[i] = items[size_t(i)].at;
    values[i] = from[items[size_t(i)].at];
  }
}

template <class F>
bool of_type(DType t, F&& f) {
  switch (t) {
    case DType::b8: f(Bool{}); return true;
    case DType::u8: f(uint8_t{}); return true;
    case DType::i8: f(int8_t{}); return true;
    case DType::i16: f(int16_t{}); return true;
    case DType::i32: f(int32_t{}); return true;
    case DType::i64: f(int64_t{}); return true;
    case DType::f16: f(Half{}); return true;
    case DType::bf16: f(BFloat16{}); return true;
    case DType::f32: f(float{}); return true;
    case DType::f64: f(double{}); return true;
    default: return false;
  }
}

// The smallest (of keys) `count` of each row, in order.
Tensor ranked(const Tensor& self, int64_t dim, int64_t count, bool inverted, Tensor* values) {
  Rows r;
  if (!rows_of(self, dim, &r)) return {};
  Dims shape(r.data->sizes().begin(), r.data->sizes().end());
  shape.back() = count;
  Tensor index = empty(shape, DType::i64, Device{}), picked = empty(shape, self->dtype(), Device{});
  const bool known = of_type(self->dtype(), [&]<class T>(T) {
    auto* places = index->data_as<int64_t>();
    T* to = picked->data_as<T>();
    each_row<T>(r, inverted, [&](auto& items, auto& spare, int64_t row, const T* from) {
      auto before = [](const auto& a, const auto& b) { return a.key < b.key || (a.key == b.key && a.at < b.at); };
      if (count <= r.cols / 8) std::partial_sort(items.begin(), items.begin() + count, items.end(), before);
      else if (r.cols <= kShort) std::sort(items.begin(), items.end(), before);
      else radix_sort(items, spare);
      write_row(items, count, from, places + row * count, to + row * count);
    });
  });
  if (!known) return {};
  *values = moved_back(r, picked);
  return moved_back(r, index);
}

}  // namespace

Tensor sort(const Tensor& self, int64_t dim, bool descending, Tensor* values) {
  const int64_t n = self->dim();
  if (n == 0 || dim < -n || dim >= n) return {};
  return ranked(self, dim, self->size(dim), descending, values);
}

Tensor top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, Tensor* values) {
  const int64_t n = self->dim();
  if (n == 0 || dim < -n || dim >= n || k < 0 || k > self->size(dim)) return {};
  return ranked(self, dim, k, largest, values);
}

}  // namespace shim
