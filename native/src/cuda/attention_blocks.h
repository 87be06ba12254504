#pragma once
// How the forward of attention on Hopper's matrix units is cut into blocks (kernels/attention_hopper.cuh).
#include <cstdint>

namespace shim::cuda {

// How many multiprocessors a device has; 0 where the driver does not say.
int multiprocessors(int device);
// Those of a device whose matrix units take whole tiles from shared memory (compute capability 9.0); 0 of any other.
int hopper_processors(int device);

// Heads of `size` numbers, `lines` of them (batch times heads), each with `rows` queries and `cols` keys; `picky`: with a mask or with
// weights that are left out.
struct AttentionShape {
  int size;
  bool causal, picky;
  int64_t lines, rows, cols;
};

// Groups of 64 queries in a block, blocks at work on a multiprocessor, keys at a time, and tiles of keys in shared memory.
struct AttentionBlocks {
  int groups, blocks, span, stages;

  // Blocks that are alone have warps that only fetch.
  int threads() const { return (groups + (blocks == 1 ? 1 : 0)) * 128; }
  // Of shared memory: queries, tiles of keys and of values, barriers.
  unsigned bytes(int size) const {
    return unsigned(1024 + groups * 64 * size * 2 + 2 * stages * span * size * 2 + (4 * stages + 2) * 8);
  }
  int64_t parts(int64_t lines, int64_t rows) const { return (rows + groups * 64 - 1) / (groups * 64) * lines; }
};
AttentionBlocks attention_blocks(const AttentionShape& shape, int processors);

// Into how many parts `tiles` tiles of keys are cut for few queries, of which `lines` blocks would leave most of the device, which has room for
// `places` blocks, idle.
int64_t key_parts(int64_t lines, int64_t tiles, int64_t places);

}  // namespace shim::cuda
