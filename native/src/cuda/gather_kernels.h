#pragma once
// What the launchers of the kernels of gather_source.h share.
#include <algorithm>

#include "cuda/launch.h"

namespace shim::cuda {

constexpr int kGatherThreads = 256;

// For kernels that only move words of `bytes` bytes, and for those that add elements; `wide`: they count in 64 bits.
CUfunction moving_kernel(const char* entry, int64_t bytes, DType index, bool wide, int device);
CUfunction adding_kernel(const char* entry, DType, DType index, bool wide, int device);

inline bool index_dtype(DType t) { return t == DType::i64 || t == DType::i32; }
inline bool counts_wide(int64_t n) { return n >= int64_t(1) << 31; }
inline uint64_t address_of(const TensorImpl& t) { return reinterpret_cast<uintptr_t>(t.data()); }

// The widest word, at most 16 bytes, that divides every one of these numbers of bytes and addresses.
inline int64_t common_word(std::initializer_list<uint64_t> parts) {
  uint64_t all = 16;
  for (uint64_t p : parts) all |= p;
  return int64_t(all & ~(all - 1));
}

inline void run_gather(CUfunction f, int64_t n, int64_t y, void** arguments, int device) {
  launch(f, std::min((n + kGatherThreads - 1) / kGatherThreads, kGridBlocks), y, kGatherThreads, 1, arguments, device);
}

}  // namespace shim::cuda
