#pragma once
// Tensors as Hopper's copy engine reads them: boxes of rows, which it lays out in shared memory as the matrix units take them.
#include "core/tensor.h"

namespace shim::cuda {

struct alignas(64) TensorMap {
  uint64_t words[16];
};  // CUtensorMap

// Of a (batch, heads, rows, size) tensor of 16-bit floats whose rows begin at 16 bytes, in boxes of `rows` rows of 64 numbers; those past
// the end are zeros. False where the driver takes no such tensor.
bool map_rows(TensorMap& map, const Tensor& t, int rows);

}  // namespace shim::cuda
