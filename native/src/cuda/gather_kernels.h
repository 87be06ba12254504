#pragma once
// What the launchers of the kernels of gather_source.h share.
#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/kernel_entry.h"

namespace shim::cuda {

constexpr int kGatherThreads = 256;

// For kernels that only move words of `bytes` bytes, and for those that add elements; `wide`: they count in 64 bits.
inline constexpr Family gather_family{"gather"};
template <class E> Kernel<E> moving_kernel(int64_t bytes, DType index, bool wide, int device) {
  return find_kernel<E>(gather_family, key_of(bytes, int(index), wide), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + word_type(bytes),
        index == DType::i32 ? "INDEX=int" : "INDEX=i64", wide ? "WIDE=1" : "WIDE=0"};
  });
}
template <class E> Kernel<E> adding_kernel(DType t, DType index, bool wide, int device) {
  if (!elementwise_dtype(t) || t == DType::f8e4m3fn || t == DType::f8e5m2) return {};
  return find_kernel<E>(gather_family, key_of(63, int(t), int(index), wide), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        index == DType::i32 ? "INDEX=int" : "INDEX=i64", wide ? "WIDE=1" : "WIDE=0", "ADDS=1"};
  });
}

inline bool index_dtype(DType t) { return t == DType::i64 || t == DType::i32; }
inline bool counts_wide(int64_t n) { return n >= int64_t(1) << 31; }
inline uint64_t address_of(const TensorImpl& t) { return reinterpret_cast<uintptr_t>(t.data()); }

// The widest word, at most 16 bytes, that divides every one of these numbers of bytes and addresses.
inline int64_t common_word(std::initializer_list<uint64_t> parts) {
  uint64_t all = 16;
  for (uint64_t p : parts) all |= p;
  return int64_t(all & ~(all - 1));
}

template <class E, class... A> void run_gather(Kernel<E> f, int64_t n, int64_t y, int device, const A&... arguments) {
  launch(
      f, {std::min((n + kGatherThreads - 1) / kGatherThreads, kGridBlocks), y, kGatherThreads}, device, arguments...);
}

}  // namespace shim::cuda
