#include "core/aligned_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace shim {

constexpr size_t kAlignment = 64;

void* aligned_memory(size_t bytes) {
  return std::aligned_alloc(kAlignment, (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment);
}

void* aligned_zeros(size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) return nullptr;
  void* p = aligned_memory(count * size);
  return p ? std::memset(p, 0, count * size) : nullptr;
}

void* aligned_resized(void* old, size_t bytes) {
  void* p = aligned_memory(bytes);
  if (p && old) {
    std::memcpy(p, old, std::min(malloc_usable_size(old), bytes));
    std::free(old);
  }
  return p;
}

}  // namespace shim
