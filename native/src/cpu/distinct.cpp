#include "cpu/distinct.h"

#include "cpu/kernel_table.h"
#include "cpu/sort_keys.h"
#include "ops/kernels.h"

namespace shim {
namespace {

Tensor places(bool wanted, DimSpan shape) { return empty(wanted ? shape : DimSpan(Dims{0}), DType::i64, Device{}); }

template <class T>
bool differ(T a, T b) {
  if constexpr (NarrowFloat<T>) return to_float(a) != to_float(b);
  else if constexpr (std::is_same_v<T, Bool>) return (a.v != 0) != (b.v != 0);
  else return a != b;
}

// Where runs start, and from that the lengths of all.
void lengths(int64_t* starts, int64_t count, int64_t end) {
  for (int64_t i = 0; i < count; ++i) starts[i] = (i + 1 < count ? starts[i + 1] : end) - starts[i];
}

template <class T>
SHIM_CLONES int64_t runs_of(const T* x, int64_t n) {
  int64_t count = n > 0;
  for (int64_t i = 1; i < n; ++i) count += differ(x[i], x[i - 1]);
  return count;
}

template <class T>
void runs(const Tensor& self, bool inverse, bool counts, Distinct* d) {
  const int64_t n = self->numel();
  const T* x = self->data_as<T>();
  const int64_t count = runs_of(x, n);
  d->values = empty(Dims{count}, self->dtype(), Device{});
  d->inverse = places(inverse, self->sizes());
  d->counts = places(counts, Dims{count});
  T* values = d->values->data_as<T>();
  int64_t *starts = counts ? d->counts->data_as<int64_t>() : nullptr, *to = inverse ? d->inverse->data_as<int64_t>() : nullptr;
  // Written whether it stays or not: no branch to predict.
  if (count) values[0] = x[0];
  for (int64_t i = 1, found = 1; found < count; ++i) values[found] = x[i], found += differ(x[i], x[i - 1]);
  if (starts) {
    if (count) starts[0] = 0;
    for (int64_t i = 1, found = 1; found < count; ++i) starts[found] = i, found += differ(x[i], x[i - 1]);
    lengths(starts, count, n);
  }
  if (to)
    for (int64_t i = 0, run = 0; i < n; ++i) to[i] = run += i > 0 && differ(x[i], x[i - 1]);
}

// Whole numbers that lie close together are counted where they stand.
template <class T>
bool by_place(const Tensor& self, bool inverse, bool counts, Distinct* d) {
  using K = decltype(key_of(T{}));
  const int64_t n = self->numel();
  const T* x = self->data_as<T>();
  K least = ~K(0), most = 0;
  for (int64_t i = 0; i < n; ++i) least = std::min(least, key_of(x[i])), most = std::max(most, key_of(x[i]));
  const uint64_t span = n ? uint64_t(most) - least : 0;
  if (span > uint64_t(2 * n + 64)) return false;
  std::vector<int64_t> seen(n ? span + 1 : 0);
  for (int64_t i = 0; i < n; ++i) ++seen[size_t(key_of(x[i]) - least)];
  const int64_t count = std::count_if(seen.begin(), seen.end(), [](int64_t c) { return c != 0; });
  d->values = empty(Dims{count}, self->dtype(), Device{});
  d->inverse = places(inverse, self->sizes());
  d->counts = places(counts, Dims{count});
  int64_t rank = 0;
  for (size_t v = 0; v < seen.size(); ++v) {
    if (!seen[v]) continue;
    const K key = K(least + v);
    d->values->data_as<T>()[rank] = std::bit_cast<T>(std::is_signed_v<T> ? flipped_sign(key) : key);
    if (counts) d->counts->data_as<int64_t>()[rank] = seen[v];
    seen[v] = rank++;
  }
  if (inverse)
    for (int64_t i = 0; i < n; ++i) d->inverse->data_as<int64_t>()[i] = seen[size_t(key_of(x[i]) - least)];
  return true;
}

template <class T>
void by_sorting(const Tensor& self, bool inverse, bool counts, Distinct* d) {
  using K = decltype(key_of(T{}));
  const size_t n = size_t(self->numel());
  const T* x = self->data_as<T>();
  std::vector<Item<K>> items(n), spare;
  for (size_t i = 0; i < n; ++i) items[i] = {key_of(x[i]), uint32_t(i)};
  if (n > size_t(kShort)) radix_sort(items, spare);
  else std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.key < b.key || (a.key == b.key && a.at < b.at); });
  auto starts_at = [&](size_t i) { return i == 0 || items[i].key != items[i - 1].key || (!std::is_integral_v<T> && items[i].key == K(~K(0))); };
  int64_t count = 0;
  for (size_t i = 0; i < n; ++i) count += starts_at(i);
  d->values = empty(Dims{count}, self->dtype(), Device{});
  d->inverse = places(inverse, self->sizes());
  d->counts = places(counts, Dims{count});
  int64_t rank = -1;
  for (size_t i = 0; i < n; ++i) {
    if (starts_at(i)) {
      d->values->data_as<T>()[++rank] = x[items[i].at];
      if (counts) d->counts->data_as<int64_t>()[rank] = int64_t(i);
    }
    if (inverse) d->inverse->data_as<int64_t>()[items[i].at] = rank;
  }
  if (counts) lengths(d->counts->data_as<int64_t>(), count, int64_t(n));
}

bool readable(const Tensor& self) { return self->device().is_cpu() && self->numel() < (int64_t(1) << 32); }

}  // namespace

bool distinct(const Tensor& self, bool inverse, bool counts, Distinct* d) {
  if (!readable(self)) return false;
  const Tensor in = contiguous(self);
  return of_type(self->dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bool>)
      if (by_place<T>(in, inverse, counts, d)) return;
    if constexpr (!std::is_same_v<T, Bool>) by_sorting<T>(in, inverse, counts, d);
  });
}

bool distinct_runs(const Tensor& self, bool inverse, bool counts, Distinct* d) {
  if (!readable(self)) return false;
  const Tensor in = contiguous(self);
  return of_type(self->dtype(), [&]<class T>(T) { runs<T>(in, inverse, counts, d); });
}

}  // namespace shim
