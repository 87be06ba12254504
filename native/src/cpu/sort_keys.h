#pragma once
// What sorts, selections and distinct values share: elements as unsigned numbers of the same order, and a stable sort by them.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "cpu/types.h"

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

}  // namespace
}  // namespace shim
