#pragma once
// Freed large blocks of CPU memory, kept for a while for the next tensor of about that size: what the system hands out afresh costs a
// page fault every 4 KB, more than many a kernel.
#include <cstddef>

namespace shim {

constexpr size_t kSmallestKept = size_t(64) << 10, kLargestKept = size_t(64) << 20;

size_t kept_size(size_t bytes);                 // what a block of `bytes` bytes is rounded up to, an eighth more at most
void* take_kept_block(size_t size);             // of exactly that rounded size; null if there is none
bool keep_block(void* block, size_t size);      // false: the caller frees it

}  // namespace shim
