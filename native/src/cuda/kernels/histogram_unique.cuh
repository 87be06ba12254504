#pragma once
// Counting values, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type it is compared in, V elements of one load, COUNT what is counted in (u32, or the weights' type);
//   TALLY 1: a number is its own place, 2: places are bins between two numbers; SLOTS places that a block keeps, a power of two (0: none).
#include "cuda/kernels/block.cuh"

typedef COUNT Count;
typedef typename pick<same_type<Count, u32>::value, u64, Count>::type Whole;

struct Range {
  C low, high;
};
__device__ inline Range wider(Range a, Range b) {  // NaN stays
  if (!(a.low != a.low) && (b.low < a.low || b.low != b.low)) a.low = b.low;
  if (!(a.high != a.high) && (b.high > a.high || b.high != b.high)) a.high = b.high;
  return a;
}
__device__ inline Range of_block(Range r) {
  __shared__ Range shared[32];
#pragma unroll
  for (int step = 16; step; step /= 2)
    r = wider(r, {__shfl_xor_sync(FULL, r.low, step), __shfl_xor_sync(FULL, r.high, step)});
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
  if (threadIdx.x == 0) {
    found[2 * blockIdx.x] = r.low;
    found[2 * blockIdx.x + 1] = r.high;
  }
}
extern "C" __global__ void __launch_bounds__(512) rest(C* found, int count) {
  Range r = {found[0], found[1]};
  for (int k = threadIdx.x; k < count; k += blockDim.x) r = wider(r, {found[2 * k], found[2 * k + 1]});
  __syncthreads();
  r = of_block(r);
  if (threadIdx.x == 0) {
    found[0] = r.low;
    found[1] = r.high;
  }
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
      for (int k = 0; k < V; ++k) {
        const i64 p = place_of(a.v[k], bins, low, high);
        if (p >= 0) f(p, c + k);
      }
    } else {
      for (i64 k = c; k < n; ++k) {
        const i64 p = place_of(x[k], bins, low, high);
        if (p >= 0) f(p, k);
      }
    }
  }
}
// counts[place] += 1 or its weight; the counts begin as zero.
extern "C" __global__ void __launch_bounds__(512)
    tally(const T* x, i64 n, const Count* weights, Whole* counts, i64 bins, C low, C high) {
#if SLOTS
  constexpr int kCopies = SLOTS >= 2048 ? 1 : 2048 / SLOTS;  // neighbouring threads seldom meet at one address
  __shared__ Count own[SLOTS * kCopies];
  for (int k = threadIdx.x; k < SLOTS * kCopies; k += blockDim.x) own[k] = Count(0);
  __syncthreads();
  each_place(x, n, bins, low, high, [&](i64 p, i64 at) {
    atomicAdd(own + int(p) * kCopies + threadIdx.x % kCopies, weights ? weights[at] : Count(1));
  });
  __syncthreads();
  for (int p = threadIdx.x; p < int(bins); p += blockDim.x) {
    Whole sum = 0;
    for (int k = 0; k < kCopies; ++k) sum += Whole(own[p * kCopies + k]);
    if (sum != Whole(0)) atomicAdd(counts + p, sum);
  }
#else
  each_place(
      x, n, bins, low, high, [&](i64 p, i64 at) { atomicAdd(counts + p, weights ? Whole(weights[at]) : Whole(1)); });
#endif
}
