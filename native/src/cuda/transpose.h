#pragma once
// Transposing copies by tiles in shared memory, so that both reads and writes are coalesced.
#include "cpu/loops.h"

namespace shim::cuda {

// operands 0 to 1 of the nest, elements of `size` bytes. False where they are contiguous along the same dimension, or there is no kernel.
bool copy_transposed(const Nest& nest, size_t size, int device);

}  // namespace shim::cuda
