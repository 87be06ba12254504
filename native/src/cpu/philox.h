#pragma once
// Philox4x32-10, a counter-based generator: block i of a stream depends on its number and the seed alone.
#include <cstdint>

namespace shim {

// Writes blocks [offset, offset + blocks) of the seed's stream, four words each.
void philox_words(uint64_t seed, uint64_t offset, int64_t blocks, uint32_t* out);

}  // namespace shim
