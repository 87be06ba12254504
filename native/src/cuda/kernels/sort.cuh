#pragma once
// Sorting short rows, compiled by NVRTC with macros:
//   ELEMENT the element type, KEYS how many keys are sorted together (a power of two, at least 16), PAIR the bytes of a (key, place)
//   pair: 4 for keys of at most 16 bits and places below 65536, 8 for keys of at most 32 bits, 16.
// Pairs all differ, so that the sort is stable; a descending sort has its keys inverted: equal elements stay in order, NaN is first.
#include "cuda/kernels/keys.cuh"

#if PAIR == 16
struct alignas(16) Pair {
  u64 key, at;
};
__device__ inline bool less(const Pair& a, const Pair& b) { return a.key < b.key || (a.key == b.key && a.at < b.at); }
__device__ inline Pair pair_of(Key key, u64 at) { return {key, at}; }
__device__ inline Pair last_pair() { return {~0ull, ~0ull}; }
__device__ inline i64 place_of(const Pair& p) { return i64(p.at); }
#else
typedef typename pick<PAIR == 8, u64, u32>::type Pair;
__device__ inline bool less(Pair a, Pair b) { return a < b; }
__device__ inline Pair pair_of(Key key, u64 at) { return Pair(key) << (PAIR * 4) | Pair(at); }
__device__ inline Pair last_pair() { return ~Pair(0); }
__device__ inline i64 place_of(Pair p) { return i64(p & (~Pair(0) >> (PAIR * 4))); }
#endif

// A bitonic sort. A thread holds EACH pairs in registers, the steps of neighbouring distances that stay among them are done at once,
// and between such groups of steps the pairs change hands through shared memory.
constexpr int kEachBits = PAIR == 16 ? 3 : 4, EACH = 1 << kEachBits, kLanes = KEYS / EACH;
constexpr int kKeysBits = KEYS == 16     ? 4
                          : KEYS == 32   ? 5
                          : KEYS == 64   ? 6
                          : KEYS == 128  ? 7
                          : KEYS == 256  ? 8
                          : KEYS == 512  ? 9
                          : KEYS == 1024 ? 10
                          : KEYS == 2048 ? 11
                                         : 12;
constexpr int kSlots =
    KEYS + KEYS / EACH;  // one of EACH is left free, so that no two threads of a warp meet at one bank
__device__ inline int slot(int i) { return i + (i >> kEachBits); }
__device__ inline void settle() {  // the threads of one row are those of a warp, or a block
  if (kLanes <= 32)
    __syncwarp();
  else
    __syncthreads();
}
__device__ inline void order(Pair& a, Pair& b, bool up) {
  const Pair low = a, high = b;
  const bool turn = less(high, low) == up;
  a = turn ? high : low;
  b = turn ? low : high;
}
// Steps of the distances 2^most .. 2^least, of merging runs of `run`; the thread's k-th pair is number first + (k << window).
__device__ inline void steps(Pair (&mine)[EACH], int first, int window, int most, int least, int run) {
#pragma unroll
  for (int bit = kEachBits - 1; bit >= 0; --bit) {
    if (window + bit > most || window + bit < least) continue;
#pragma unroll
    for (int k = 0; k < EACH; ++k)
      if (!(k >> bit & 1)) order(mine[k], mine[k | 1 << bit], !((first + (k << window)) & run));
  }
}
__device__ inline int first_of(int lane, int window) {
  return (lane >> window << (window + kEachBits)) | (lane & ((1 << window) - 1));
}

// Sorts what the kLanes threads of a row hold, whatever their order; the result is in `shared`, at slot(0) to slot(KEYS - 1).
// Every thread of the block takes part: those that are not `active` only in the barriers.
__device__ inline void sort_pairs(Pair (&mine)[EACH], Pair* shared, int lane, bool active) {
  const int own = lane << kEachBits;
#pragma unroll
  for (int r = 1; r <= kEachBits; ++r)
    if (active) steps(mine, own, 0, r - 1, 0, 1 << r);
  for (int r = kEachBits + 1; r <= kKeysBits; ++r) {
    int from = 0;  // the window that the pairs are in
    for (int w = (r - 1) / kEachBits; w >= 0; --w) {
      const int least = w * kEachBits, window = least < kKeysBits - kEachBits ? least : kKeysBits - kEachBits;
      const int before = first_of(lane, from), first = first_of(lane, window);
      if (active) {
#pragma unroll
        for (int k = 0; k < EACH; ++k) shared[slot(before + (k << from))] = mine[k];
      }
      settle();
      if (active) {
#pragma unroll
        for (int k = 0; k < EACH; ++k) mine[k] = shared[slot(first + (k << window))];
        const int most = r - 1 < least + kEachBits - 1 ? r - 1 : least + kEachBits - 1;
        steps(mine, first, window, most, least, 1 << r);
      }
      from = window;
    }
  }
  if (active) {
#pragma unroll
    for (int k = 0; k < EACH; ++k) shared[slot(own + k)] = mine[k];
  }
  settle();
}

#ifndef SELECT
// The first `keep` of each of `rows` rows of n <= KEYS elements, sorted, to values and places (row, keep). Several rows a block.
extern "C" __global__ void __launch_bounds__(256)
    sort_rows(const T* x, i64 rows, i64 n, T* values, i64* places, i64 keep, int descending) {
  __shared__ Pair pairs[kSlots * (kLanes < 128 ? 128 / kLanes : 1)];
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const i64 row = i64(blockIdx.x) * (blockDim.x / kLanes) + group;
  const bool active = row < rows;
  const T* from = x + row * n;
  Pair mine[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const i64 at = lane + i64(k) * kLanes;
    mine[k] = active && at < n ? pair_of(sortable(from[at], descending), u64(at)) : last_pair();
  }
  Pair* shared = pairs + group * kSlots;
  sort_pairs(mine, shared, lane, active);
  if (!active) return;
  for (i64 i = lane; i < keep; i += kLanes) {
    const i64 at = place_of(shared[slot(int(i))]);
    values[row * keep + i] = from[at];
    places[row * keep + i] = at;
  }
}
#endif
