#pragma once
// Freed large blocks of CPU memory, kept for a while for the next tensor of about that size: what the system hands out afresh costs a
// page fault every 4 KB, more than many a kernel.
#include <cstddef>
#include <new>
#include <vector>

namespace shim {

// Adds a freed block to a list of those that are used again. False: the list cannot grow, for memory has run out.
inline bool keep_for_later(std::vector<void*>& list, void* block) noexcept {
  try {
    list.push_back(block);
    return true;
  } catch (const std::bad_alloc&) { return false; }
}

constexpr size_t kSmallestKept = size_t(64) << 10, kLargestKept = size_t(64) << 20;

size_t kept_size(size_t bytes);             // what a block of `bytes` bytes is rounded up to, an eighth more at most
void* take_kept_block(size_t size);         // of exactly that rounded size; null if there is none
bool keep_block(void* block, size_t size);  // false: the caller frees it

}  // namespace shim
