#pragma once
// What sorts, selections and distinct values share: elements as unsigned numbers of the same order, and a stable sort by them. The
// numbers have 32 bits, or 64 for elements of 8 bytes, whatever the dtype: what follows is compiled for these two.
#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "cpu/types.h"

namespace shim {
namespace {

// An unsigned number of the same order as the element. -0 and 0 are equal, and so are all NaNs, above everything.
template <class U> U flipped_sign(U bits) { return bits ^ (U(1) << (sizeof(U) * 8 - 1)); }
template <class U> U float_order(U bits, U infinity) {
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

template <class K> struct Item {
  K key;
  uint32_t at;
};  // 8 or 16 bytes
template <class K> struct ByKey {
  bool operator()(const Item<K>& a, const Item<K>& b) const { return a.key < b.key; }
};
template <class K> struct ByKeyAndPlace {
  bool operator()(const Item<K>& a, const Item<K>& b) const { return a.key < b.key || (a.key == b.key && a.at < b.at); }
};

constexpr int64_t kShort = 256;  // rows shorter than this are sorted by comparison

// Sorts by the lowest `bytes` of the key, keeping the order of equal ones: one pass a byte, from the lowest; a byte that all keys share
// is skipped.
template <class K> void radix_sort(std::vector<Item<K>>& items, std::vector<Item<K>>& spare, size_t bytes) {
  const size_t n = items.size();
  std::vector<uint32_t> counts(256 * bytes, 0);
  auto count_bytes = [&](auto bytes) {
    for (const Item<K>& i : items)
      for (size_t b = 0; b < bytes; ++b) ++counts[b * 256 + size_t((i.key >> (8 * b)) & 255)];
  };
  // The loops over the bytes are unrolled.
  if (bytes == 1)
    count_bytes(std::integral_constant<size_t, 1>());
  else if (bytes == 2)
    count_bytes(std::integral_constant<size_t, 2>());
  else if (bytes == 4)
    count_bytes(std::integral_constant<size_t, 4>());
  else
    count_bytes(std::integral_constant<size_t, sizeof(K)>());
  spare.resize(n);
  for (size_t b = 0; b < bytes; ++b) {
    uint32_t* count = counts.data() + b * 256;
    if (count[(items[0].key >> (8 * b)) & 255] == n) continue;
    uint32_t start = 0;
    for (int v = 0; v < 256; ++v) start += std::exchange(count[v], start);
    for (const Item<K>& i : items) spare[count[(i.key >> (8 * b)) & 255]++] = i;
    items.swap(spare);
  }
}

// Writes n keys into uint32_t or uint64_t, as items or alone.
template <class T, class Out> void write_keys(const void* elements, int64_t n, bool inverted, Out* out) {
  const T* from = static_cast<const T*>(elements);
  using K = decltype(key_of(T{}));
  const K flip = inverted ? K(~K(0)) : K(0);
  for (int64_t i = 0; i < n; ++i) {
    const K key = K(key_of(from[i]) ^ flip);
    if constexpr (std::is_integral_v<Out>)
      out[i] = key;
    else
      out[i] = {key, uint32_t(i)};
  }
}
// The keys of n elements of a dtype with keys of this width; in order of size the other way round where `inverted`.
template <class Out> void keys_of(DType t, const void* elements, int64_t n, bool inverted, Out* out) {
  if constexpr (sizeof(Out) == 8 + 8 * !std::is_integral_v<Out>) {
    if (t == DType::f64)
      write_keys<double>(elements, n, inverted, out);
    else
      write_keys<int64_t>(elements, n, inverted, out);
  } else {
    switch (t) {
      case DType::b8: return write_keys<Bool>(elements, n, inverted, out);
      case DType::u8: return write_keys<uint8_t>(elements, n, inverted, out);
      case DType::i8: return write_keys<int8_t>(elements, n, inverted, out);
      case DType::i16: return write_keys<int16_t>(elements, n, inverted, out);
      case DType::i32: return write_keys<int32_t>(elements, n, inverted, out);
      case DType::f16: return write_keys<Half>(elements, n, inverted, out);
      case DType::bf16: return write_keys<BFloat16>(elements, n, inverted, out);
      default: return write_keys<float>(elements, n, inverted, out);
    }
  }
}
// run(T) for the C++ type of a dtype that has keys; false for others.
template <class F> bool of_type(DType t, F&& run) {
  switch (t) {
    case DType::b8: run(Bool{}); return true;
    case DType::u8: run(uint8_t{}); return true;
    case DType::i8: run(int8_t{}); return true;
    case DType::i16: run(int16_t{}); return true;
    case DType::i32: run(int32_t{}); return true;
    case DType::i64: run(int64_t{}); return true;
    case DType::f16: run(Half{}); return true;
    case DType::bf16: run(BFloat16{}); return true;
    case DType::f32: run(float{}); return true;
    case DType::f64: run(double{}); return true;
    default: return false;
  }
}
inline bool has_keys(DType t) {
  return of_type(t, [](auto) {});
}
// The key of a NaN, above those of all numbers, and of the largest whole number.
inline uint64_t last_key(DType t) { return ~uint64_t(0) >> (64 - 8 * itemsize(t)); }

// run(K) for the width of the keys.
template <class F> void with_key(DType t, F&& run) { itemsize(t) == 8 ? run(uint64_t{}) : run(uint32_t{}); }

// to[i] = from[items[i].at] for the first n, for elements of a size.
template <class K> using Taker = void (*)(const Item<K>* items, int64_t n, const char* from, char* to);
template <class K, class E> void take_elements(const Item<K>* items, int64_t n, const char* from, char* to) {
  for (int64_t i = 0; i < n; ++i) reinterpret_cast<E*>(to)[i] = reinterpret_cast<const E*>(from)[items[i].at];
}
template <class K> Taker<K> taker(size_t bytes) {
  return of_size<Taker<K>>(bytes, []<class E>(E) -> Taker<K> { return take_elements<K, E>; });
}

}  // namespace
}  // namespace shim
