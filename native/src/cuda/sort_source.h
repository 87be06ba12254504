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
// Between steps: a warp's 32 pairs of a step of at most 32 are 64 neighbours, which no other warp touches.
__device__ inline void settle(int reach, int next) {
  if (reach <= 64 && next <= 64) __syncwarp();
  else __syncthreads();
}
// From sorted runs of `from` keys to one of KEYS.
__device__ inline void merge(Pair* pairs, int from) {
  for (int run = from * 2; run <= KEYS; run *= 2) {
    const int half = run / 2;
    for (int p = threadIdx.x; p < KEYS / 2; p += blockDim.x) {  // each with its mirror image in the run
      const int first = (p / half) * run, i = p % half;
      exchange(pairs[first + i], pairs[first + run - 1 - i]);
    }
    settle(run, half > 1 ? half : run * 2);
    for (int step = run / 4; step; step /= 2) {
      for (int p = threadIdx.x; p < KEYS / 2; p += blockDim.x) { const int i = 2 * p - (p & (step - 1)); exchange(pairs[i], pairs[i + step]); }
      settle(step * 2, step > 1 ? step : run * 2);
    }
  }
  __syncthreads();
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
  merge(pairs, 1);
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

// The first `keep` (at most KEYS) of each row of n, sorted: their last key is found 8 bits at a time, then they are gathered. Of the
// keys equal to the last, those of the first places. A block a row.
#if WIDE
typedef u64 Key;
#else
typedef u32 Key;
#endif
__device__ inline Key sortable(T x, int descending) { const Key k = Key(key_of(x)); return descending ? Key(~k) : k; }
extern "C" __global__ void __launch_bounds__(1024) smallest(const T* x, i64 n, T* values, i64* places, i64 keep, int descending) {
  __shared__ Pair pairs[KEYS];
  __shared__ u32 counts[256];
  __shared__ u32 found, left, digit;
  const T* row = x + i64(blockIdx.x) * n;
  Key prefix = 0, mask = 0;
  if (threadIdx.x == 0) { found = 0; left = u32(keep); }
  for (int shift = int(sizeof(Key)) * 8 - 8; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const Key k = sortable(row[i], descending);
      if ((k & mask) == prefix) atomicAdd(&counts[u32(k >> shift) & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 32) {                                     // the digit in which the count of smaller keys passes `left`
      u32 own[8], sum = 0;
      for (int k = 0; k < 8; ++k) sum += own[k] = counts[threadIdx.x * 8 + k];
      u32 up = sum;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) { const u32 other = __shfl_up_sync(0xffffffffu, up, step); if (threadIdx.x >= step) up += other; }
      u32 below = up - sum;
      const u32 wanted = left;
      __syncwarp();
      if (below < wanted && wanted <= up) {
        for (int k = 0; k < 8; ++k) {
          if (wanted <= below + own[k]) { digit = threadIdx.x * 8 + k; left = wanted - below; break; }
          below += own[k];
        }
      }
    }
    __syncthreads();
    prefix |= Key(digit) << shift;
    mask |= Key(255) << shift;
    __syncthreads();
  }
  // `prefix` is the last key; `left` of those equal to it are taken.
  const u32 equal = left;
  for (int i = threadIdx.x; i < KEYS; i += blockDim.x) pairs[i] = last_pair();
  __syncthreads();
  for (i64 i = threadIdx.x; i < n; i += blockDim.x)
    if (sortable(row[i], descending) < prefix) pairs[atomicAdd(&found, 1u)] = pair_of(row[i], i, descending);
  __syncthreads();
  const u32 smaller = found;
  u32 taken = 0;
  for (i64 first = 0; first < n && taken < equal; first += blockDim.x) {
    const i64 i = first + threadIdx.x;
    const bool is = i < n && sortable(row[i], descending) == prefix;
    const u32 votes = __ballot_sync(0xffffffffu, is);
    if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = __popc(votes);
    __syncthreads();
    u32 before = taken, all = 0;
    for (u32 w = 0; w < blockDim.x / 32; ++w) { if (w < threadIdx.x / 32) before += counts[w]; all += counts[w]; }
    before += __popc(votes & ((1u << (threadIdx.x % 32)) - 1));
    if (is && before < equal) pairs[smaller + before] = pair_of(row[i], i, descending);
    taken += all;
    __syncthreads();
  }
  __syncthreads();
  merge(pairs, 1);
  for (i64 i = threadIdx.x; i < keep; i += blockDim.x) {
    const i64 at = place_of(pairs[i]);
    values[i64(blockIdx.x) * keep + i] = row[at];
    places[i64(blockIdx.x) * keep + i] = at;
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
    settle(step * 2, step);
  }
  __syncthreads();
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
