#pragma once
// Memory of the C library aligned to 64 bytes, as tensors' is.
#include <cstddef>

namespace shim {

void* aligned_memory(size_t bytes);  // each null where there is none
void* aligned_zeros(size_t count, size_t size);
void* aligned_resized(void*, size_t bytes);  // keeps what fits; frees the old

}  // namespace shim
