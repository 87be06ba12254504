#pragma once
// CUDA C++ of counting values, compiled by NVRTC after types_source.h and block_source.h with macros:
//   ELEMENT the element type, C the type it is compared in, V elements of one load, COUNT what is counted in (u32, or the weights' type);
//   TALLY 1: a number is its own place, 2: places are bins between two numbers; SLOTS places that a block keeps, a power of two (0: none).
namespace shim::cuda {

inline constexpr const char* kHistogramUniqueSource = R"cuda(
typedef COUNT Count;
typedef typename pick<same_type<Count, u32>::value, u64, Count>::type Whole;

struct Range { C low, high; };
__device__ inline Range wider(Range a, Range b) {               // NaN stays
  if (!(a.low != a.low) && (b.low < a.low || b.low != b.low)) a.low = b.low;
  if (!(a.high != a.high) && (b.high > a.high || b.high != b.high)) a.high = b.high;
  return a;
}
__device__ inline Range of_block(Range r) {
  __shared__ Range shared[32];
#pragma unroll
  for (int step = 16; step; step /= 2) r = wider(r, {__shfl_xor_sync(FULL, r.low, step), __shfl_xor_sync(FULL, r.high, step)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = r;
  __syncthreads();
  for (int k = 0; k < int(blockDim.x / 32); ++k) r = wider(r, shared[k]);
  return r;
}
// The least and the greatest of each block's part; `rest` those of `count` such pairs, in place of the first.
extern "C" __global__ void __launch_bounds__(512) bounds(const T* x, i64 n, C* found) {
  const C first = wide(x[0]);
  Range r = {first, first};
  const i64 stride = i64(gridDim.x) * blockDim.x * V;
  for (i64 c = (i64(blockIdx.x) * blockDim.x + threadIdx.x) * V; c < n; c += stride) {
    if (c + V <= n) {
      const Load a = load(x + c);
#pragma unroll
      for (int k = 0; k < V; ++k) r = wider(r, {wide(a.v[k]), wide(a.v[k])});
    } else {
      for (i64 k = c; k < n; ++k) r = wider(r, {wide(x[k]), wide(x[k])});
    }
  }
  r = of_block(r);
  if (threadIdx.x == 0) { found[2 * blockIdx.x] = r.low; found[2 * blockIdx.x + 1] = r.high; }
}
extern "C" __global__ void __launch_bounds__(512) rest(C* found, int count) {
  Range r = {found[0], found[1]};
  for (int k = threadIdx.x; k < count; k += blockDim.x) r = wider(r, {found[2 * k], found[2 * k + 1]});
  __syncthreads();
  r = of_block(r);
  if (threadIdx.x == 0) { found[0] = r.low; found[1] = r.high; }
}

// The place of x, or -1 outside.
__device__ inline i64 place_of(T x, i64 bins, C low, C high) {
#if TALLY == 1
  return i64(wide(x));
#else
  const C v = wide(x);
  if (!(v >= low && v <= high)) return -1;
  const i64 bin = i64((v - low) * C(bins) / (high - low));
  return bin < bins ? bin : bins - 1;
#endif
}
template <class F> __device__ inline void each_place(const T* x, i64 n, i64 bins, C low, C high, F f) {
  const i64 stride = i64(gridDim.x) * blockDim.x * V;
  for (i64 c = (i64(blockIdx.x) * blockDim.x + threadIdx.x) * V; c < n; c += stride) {
    if (c + V <= n) {
      const Load a = load(x + c);
#pragma unroll
      for (int k = 0; k < V; ++k) { const i64 p = place_of(a.v[k], bins, low, high); if (p >= 0) f(p, c + k); }
    } else {
      for (i64 k = c; k < n; ++k) { const i64 p = place_of(x[k], bins, low, high); if (p >= 0) f(p, k); }
    }
  }
}
// counts[place] += 1 or its weight; the counts begin as zero.
extern "C" __global__ void __launch_bounds__(512) tally(const T* x, i64 n, const Count* weights, Whole* counts, i64 bins, C low, C high) {
#if SLOTS
  constexpr int kCopies = SLOTS >= 2048 ? 1 : 2048 / SLOTS;     // neighbouring threads seldom meet at one address
  __shared__ Count own[SLOTS * kCopies];
  for (int k = threadIdx.x; k < SLOTS * kCopies; k += blockDim.x) own[k] = Count(0);
  __syncthreads();
  each_place(x, n, bins, low, high, [&](i64 p, i64 at) { atomicAdd(own + int(p) * kCopies + threadIdx.x % kCopies, weights ? weights[at] : Count(1)); });
  __syncthreads();
  for (int p = threadIdx.x; p < int(bins); p += blockDim.x) {
    Whole sum = 0;
    for (int k = 0; k < kCopies; ++k) sum += Whole(own[p * kCopies + k]);
    if (sum != Whole(0)) atomicAdd(counts + p, sum);
  }
#else
  each_place(x, n, bins, low, high, [&](i64 p, i64 at) { atomicAdd(counts + p, weights ? Whole(weights[at]) : Whole(1)); });
#endif
}
)cuda";

// After scan_source.h, whose scans it uses, with HEADS=1: runs of equal neighbours. Every NaN is a run of its own.
inline constexpr const char* kHeadsSource = R"cuda(
#define PART 4096
template <class X> __device__ inline bool differ(X a, X b) {
  if constexpr (same_type<X, Bool>::value) return (a.v != 0) != (b.v != 0);
  else if constexpr (is_narrow<X>) return !(widen(a) == widen(b));
  else return !(a == b);
}
__device__ inline bool is_head(const T* x, i64 i) { return i == 0 || differ(x[i], x[i - 1]); }
// How many runs begin in each part, and one more of 0.
extern "C" __global__ void __launch_bounds__(1024) count_heads(const T* x, i64 n, i64* counts) {
  const i64 begin = i64(blockIdx.x) * PART, end = begin + PART < n ? begin + PART : n;
  u32 found = 0;
  for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) found += is_head(x, i);
  found = across_block(found);
  if (threadIdx.x == 0) { counts[blockIdx.x] = found; if (blockIdx.x == 0) counts[gridDim.x] = 0; }
}
extern "C" __global__ void __launch_bounds__(1024) starts(i64* counts, i64 n) { scan_before(counts, n); }
// values[run] and firsts[run] of its first element; runs[order[i]] (or runs[i]) the run of element i.
extern "C" __global__ void __launch_bounds__(1024) place_heads(const T* x, i64 n, const i64* starts, const i64* order, T* values, i64* firsts, i64* runs) {
  const i64 begin = i64(blockIdx.x) * PART, end = begin + PART < n ? begin + PART : n;
  i64 have = starts[blockIdx.x];
  for (i64 first = begin; first < end; first += blockDim.x) {
    const i64 i = first + threadIdx.x;
    const bool head = i < end && is_head(x, i);
    const Sums<u32> s = scan_block(u32(head));
    const i64 run = have + s.before + head - 1;
    if (head) { values[run] = x[i]; if (firsts) firsts[run] = i; }
    if (runs && i < end) runs[order ? order[i] : i] = run;
    have += s.all;
  }
}
extern "C" __global__ void __launch_bounds__(256) lengths(const i64* firsts, i64 total, i64 n, i64* counts) {
  const i64 k = i64(blockIdx.x) * 256 + threadIdx.x;
  if (k < total) counts[k] = (k + 1 < total ? firsts[k + 1] : n) - firsts[k];
}
)cuda";

}  // namespace shim::cuda
