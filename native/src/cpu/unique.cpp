#include "cpu/unique.h"

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/sort_keys.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct Unique {
  Tensor values, inverse, counts;
};

Tensor places(bool wanted, IntArrayRef shape) {
  return empty(wanted ? shape : IntArrayRef(Dims{0}), DType::i64, Device{});
}

template <class T> bool differ(T a, T b) {
  if constexpr (NarrowFloat<T>)
    return to_float(a) != to_float(b);
  else if constexpr (std::is_same_v<T, Bool>)
    return (a.v != 0) != (b.v != 0);
  else
    return a != b;
}

// Where runs start, and from that the lengths of all.
void lengths(int64_t* starts, int64_t count, int64_t end) {
  for (int64_t i = 0; i < count; ++i) starts[i] = (i + 1 < count ? starts[i + 1] : end) - starts[i];
}

template <class T> SHIM_CLONES int64_t runs_of(const T* x, int64_t n) {
  int64_t count = n > 0;
  for (int64_t i = 1; i < n; ++i) count += differ(x[i], x[i - 1]);
  return count;
}

template <class T> void runs(const Tensor& self, bool inverse, bool counts, Unique* d) {
  const int64_t n = self->numel();
  const T* x = static_cast<const T*>(self->data());
  const int64_t count = runs_of(x, n);
  d->values = empty(Dims{count}, self->dtype(), Device{});
  d->inverse = places(inverse, self->sizes());
  d->counts = places(counts, Dims{count});
  T* values = static_cast<T*>(d->values->data());
  int64_t *starts = counts ? d->counts->data_as<int64_t>() : nullptr,
          *to = inverse ? d->inverse->data_as<int64_t>() : nullptr;
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

// Whole numbers of K's size that lie close together are counted where they stand.
template <class K> bool by_place(const Tensor& self, bool inverse, bool counts, Unique* d) {
  const int64_t n = self->numel();
  const K* x = static_cast<const K*>(self->data());
  const K sign = is_signed(self->dtype()) ? flipped_sign(K(0)) : K(0);
  const bool logical = self->dtype() == DType::b8;
  auto key = [&](int64_t i) { return logical ? K(x[i] != 0) : K(x[i] ^ sign); };
  K least = K(~K(0)), most = 0;
  for (int64_t i = 0; i < n; ++i) least = std::min(least, key(i)), most = std::max(most, key(i));
  const uint64_t span = n ? uint64_t(most) - least : 0;
  if (span > uint64_t(2 * n + 64)) return false;
  std::vector<int64_t> seen(n ? span + 1 : 0);
  for (int64_t i = 0; i < n; ++i) ++seen[size_t(key(i) - least)];
  const int64_t count = std::count_if(seen.begin(), seen.end(), [](int64_t c) { return c != 0; });
  d->values = empty(Dims{count}, self->dtype(), Device{});
  d->inverse = places(inverse, self->sizes());
  d->counts = places(counts, Dims{count});
  int64_t rank = 0;
  for (size_t v = 0; v < seen.size(); ++v) {
    if (!seen[v]) continue;
    static_cast<K*>(d->values->data())[rank] = K(K(least + v) ^ sign);
    if (counts) d->counts->data_as<int64_t>()[rank] = seen[v];
    seen[v] = rank++;
  }
  if (inverse)
    for (int64_t i = 0; i < n; ++i) d->inverse->data_as<int64_t>()[i] = seen[size_t(key(i) - least)];
  return true;
}

template <class K> void by_sorting(const Tensor& self, bool inverse, bool counts, Unique* d) {
  const size_t n = size_t(self->numel()), bytes = self->itemsize();
  std::vector<Item<K>> items(n), spare;
  keys_of(self->dtype(), self->data(), int64_t(n), false, items.data());
  if (n > size_t(kShort))
    radix_sort(items, spare, bytes);
  else
    std::sort(items.begin(), items.end(), ByKeyAndPlace<K>());
  const bool nans = is_floating(self->dtype());
  const K nan = K(last_key(self->dtype()));
  auto starts_at = [&](size_t i) {
    return i == 0 || items[i].key != items[i - 1].key || (nans && items[i].key == nan);
  };
  int64_t count = 0;
  for (size_t i = 0; i < n; ++i) count += starts_at(i);
  d->inverse = places(inverse, self->sizes());
  d->counts = places(counts, Dims{count});
  std::vector<Item<K>>& firsts = spare;  // the items that runs start with
  firsts.resize(size_t(count));
  int64_t rank = -1;
  for (size_t i = 0; i < n; ++i) {
    if (starts_at(i)) {
      firsts[size_t(++rank)] = items[i];
      if (counts) d->counts->data_as<int64_t>()[rank] = int64_t(i);
    }
    if (inverse) d->inverse->data_as<int64_t>()[items[i].at] = rank;
  }
  d->values = empty(Dims{count}, self->dtype(), Device{});
  taker<K>(bytes)(firsts.data(), count, static_cast<const char*>(self->data()), static_cast<char*>(d->values->data()));
  if (counts) lengths(d->counts->data_as<int64_t>(), count, int64_t(n));
}

constexpr int64_t kTooMany = int64_t(1) << 32;  // a place is 32 bits
constexpr NotMine kTooManyElements{"2**32 elements"}, kNoKeys{"a dtype without sort keys"};

Outcome<Distinct> distinct(const Unique& d) { return Distinct{d.values, d.inverse, d.counts}; }

}  // namespace

Outcome<Distinct> unique(const Tensor& self, Ignored, bool inverse, bool counts) {
  const DType t = self->dtype();
  if (self->numel() >= kTooMany) return kTooManyElements;
  if (!has_keys(t)) return kNoKeys;
  const UnlockedWork others_run(self->numel());
  Unique d;
  const Tensor in = contiguous(self);
  if (is_integral(t, true) &&
      of_size<bool>(in->itemsize(), [&]<class E>(E) { return by_place<E>(in, inverse, counts, &d); }))
    return distinct(d);
  with_key(t, [&]<class K>(K) { by_sorting<K>(in, inverse, counts, &d); });
  return distinct(d);
}

Outcome<Distinct> unique_consecutive(const Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim) {
  if (dim) return NotMine{"a dim"};
  if (self->numel() >= kTooMany) return kTooManyElements;
  const UnlockedWork others_run(self->numel());
  Unique d;
  const Tensor in = contiguous(self);
  auto run = [&]<class T>(T) { return runs<T>(in, inverse, counts, &d), true; };
  switch (self->dtype()) {  // whole numbers are equal where their bits are
    case DType::b8: run(Bool{}); break;
    case DType::f16: run(Half{}); break;
    case DType::bf16: run(BFloat16{}); break;
    case DType::f32: run(float{}); break;
    case DType::f64: run(double{}); break;
    default:
      if (!is_integral(self->dtype(), false) || !has_keys(self->dtype()) || !of_size<bool>(self->itemsize(), run))
        return kNoKeys;
  }
  return distinct(d);
}

}  // namespace shim
