#pragma once
// CUDA C++ of sorting rows, compiled by NVRTC after types_source.h with macros:
//   ELEMENT the element type, KEYS how many keys a block sorts (a power of two), WIDE 1 for elements of 64 bits.
// Bitonic merges of (key, place) pairs, all of which differ: the sort is stable. Keys order as the elements do, NaN last; DESCENDING
// turns them round, so that then NaN is first, and equal elements stay in order.
namespace shim::cuda {

inline constexpr const char* kSortSource = R"cuda(
typedef ELEMENT T;
#if WIDE
struct alignas(16) Pair { u64 key, at; };
__device__ inline bool less(const Pair& a, const Pair& b) { return a.key < b.key || (a.key == b.key && a.at < b.at); }
__device__ inline Pair last_pair() { return {~0ull, ~0ull}; }
__device__ inline i64 place_of(const Pair& p) { return i64(p.at); }
#else
typedef u64 Pair;
__device__ inline bool less(Pair a, Pair b) { return a < b; }
__device__ inline Pair last_pair() { return ~0ull; }
__device__ inline i64 place_of(Pair p) { return i64(u32(p)); }
#endif

template <class X> __device__ inline u64 key_of(X x) {
  if constexpr (is_narrow<X>) return key_of(widen(x));
  else if constexpr (same_type<X, Bool>::value) return x.v != 0;
  else if constexpr (same_type<X, float>::value) {
    const u32 u = x != x ? 0x7fc00000u : x == 0.0f ? 0u : __float_as_uint(x);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
  } else if constexpr (same_type<X, double>::value) {
    const u64 u = x != x ? 0x7ff8000000000000ull : x == 0.0 ? 0ull : u64(__double_as_longlong(x));
    return u >> 63 ? ~u : u | 1ull << 63;
  } else if constexpr (sizeof(X) == 8) return is_signed<X> ? u64(x) ^ 1ull << 63 : u64(x);
  else return is_signed<X> ? u32(i64(x)) ^ 0x80000000u : u32(x);
}
__device__ inline Pair pair_of(T x, i64 at, int descending) {
  const u64 key = key_of(x);
#if WIDE
  return {descending ? ~key : key, u64(at)};
#else
  return u64(u32(descending ? ~u32(key) : u32(key))) << 32 | u32(at);
#endif
}

__device__ inline void exchange(Pair& a, Pair& b) {
  if (less(b, a)) { const Pair t = a; a = b; b = t; }
}
// From merged runs of `from` keys to runs of `to`.
__device__ inline void merge(Pair* pairs, int from, int to) {
  for (int run = from * 2; run <= to; run *= 2) {
    for (int p = threadIdx.x; p < KEYS / 2; p += blockDim.x) {     // each with its mirror image in the run
      const int half = run / 2, first = (p / half) * run, i = p % half;
      exchange(pairs[first + i], pairs[first + run - 1 - i]);
    }
    __syncthreads();
    for (int step = run / 4; step; step /= 2) {
      for (int p = threadIdx.x; p < KEYS / 2; p += blockDim.x) { const int i = 2 * p - (p & (step - 1)); exchange(pairs[i], pairs[i + step]); }
      __syncthreads();
    }
  }
}

// Of each row, KEYS elements a block, sorted: the first `keep` of them. Rows of n elements, or with `given` of n pairs, in gridDim.y
// parts; to `kept` (row, part, keep), or where that is null to values and places (row, keep).
extern "C" __global__ void chunks(const T* x, const Pair* given, i64 n, i64 width, Pair* kept, T* values, i64* places, i64 keep, int descending) {
  __shared__ Pair pairs[KEYS];
  const i64 row = blockIdx.x, begin = i64(blockIdx.y) * KEYS;
  for (int i = threadIdx.x; i < KEYS; i += blockDim.x) {
    const i64 at = begin + i;
    pairs[i] = at >= n ? last_pair() : given ? given[row * n + at] : pair_of(x[row * width + at], at, descending);
  }
  __syncthreads();
  merge(pairs, 1, KEYS);
  for (i64 i = threadIdx.x; i < keep; i += blockDim.x) {
    if (kept) {
      kept[(row * gridDim.y + blockIdx.y) * keep + i] = pairs[i];
    } else {
      const i64 at = place_of(pairs[i]);
      values[row * keep + i] = x[row * width + at];
      places[row * keep + i] = at;
    }
  }
}

// One step of merging runs of 2**k pairs of rows of `padded`: with the mirror image, or at `step`.
extern "C" __global__ void __launch_bounds__(256) far(Pair* pairs, i64 padded, i64 run, i64 step) {
  const i64 p = i64(blockIdx.x) * 256 + threadIdx.x;
  if (p >= padded / 2) return;
  Pair* row = pairs + i64(blockIdx.y) * padded;
  const i64 half = run / 2;
  i64 i, j;
  if (step) { i = 2 * p - (p & (step - 1)); j = i + step; }
  else { const i64 first = p / half * run; i = first + p % half; j = first + run - 1 - p % half; }
  Pair a = row[i], b = row[j];
  if (less(b, a)) { row[i] = b; row[j] = a; }
}
// The steps below KEYS of that merge, a block each KEYS pairs.
extern "C" __global__ void near(Pair* all, i64 padded) {
  __shared__ Pair pairs[KEYS];
  Pair* from = all + i64(blockIdx.y) * padded + i64(blockIdx.x) * KEYS;
  for (int i = threadIdx.x; i < KEYS; i += blockDim.x) pairs[i] = from[i];
  __syncthreads();
  for (int step = KEYS / 2; step; step /= 2) {
    for (int p = threadIdx.x; p < KEYS / 2; p += blockDim.x) { const int i = 2 * p - (p & (step - 1)); exchange(pairs[i], pairs[i + step]); }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < KEYS; i += blockDim.x) from[i] = pairs[i];
}
extern "C" __global__ void __launch_bounds__(256) unpack(const T* x, const Pair* pairs, i64 n, i64 padded, T* values, i64* places) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x, row = blockIdx.y;
  if (i >= n) return;
  const i64 at = place_of(pairs[row * padded + i]);
  values[row * n + i] = x[row * n + at];
  places[row * n + i] = at;
}
)cuda";

}  // namespace shim::cuda
