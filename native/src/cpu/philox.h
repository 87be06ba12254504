#pragma once
// Philox4x32-10, a counter-based generator: block i of a stream depends on its number and the seed alone.
#include <cstdint>

namespace shim {

// Writes blocks [offset, offset + blocks) of the seed's stream, four words each.
void philox_words(uint64_t seed, uint64_t offset, int64_t blocks, uint32_t* out);

// Numbers of the stream's blocks from `start` on, as tests state them in NumPy's terms: in [low, low + span), each step
// rounded; whole numbers, low plus the remainder by span (0 for 2^64); normal numbers by Box-Muller.
template <class T> void draw_uniform(T* out, int64_t n, uint64_t seed, uint64_t start, T span, T low);
void draw_integer(int64_t* out, int64_t n, uint64_t seed, uint64_t start, uint64_t span, int64_t low);
template <class T> void draw_normal(T* out, int64_t n, uint64_t seed, uint64_t start, T mean, T deviation);

}  // namespace shim
