#pragma once
// After scan.cuh, whose scans it uses, with HEADS=1: runs of equal neighbours. Every NaN is a run of its own.
#include "cuda/kernels/scan.cuh"

#define PART 4096
template <class X> __device__ inline bool differ(X a, X b) {
  if constexpr (same_type<X, Bool>::value)
    return (a.v != 0) != (b.v != 0);
  else if constexpr (is_narrow<X>)
    return !(widen(a) == widen(b));
  else
    return !(a == b);
}
__device__ inline bool is_head(const T* x, i64 i) { return i == 0 || differ(x[i], x[i - 1]); }
// How many runs begin in each part, and one more of 0.
extern "C" __global__ void __launch_bounds__(1024) count_heads(const T* x, i64 n, i64* counts) {
  const i64 begin = i64(blockIdx.x) * PART, end = begin + PART < n ? begin + PART : n;
  u32 found = 0;
  for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) found += is_head(x, i);
  found = across_block(found);
  if (threadIdx.x == 0) {
    counts[blockIdx.x] = found;
    if (blockIdx.x == 0) counts[gridDim.x] = 0;
  }
}
extern "C" __global__ void __launch_bounds__(1024) starts(i64* counts, i64 n) { scan_before(counts, n); }
// values[run] and firsts[run] of its first element; runs[order[i]] (or runs[i]) the run of element i.
extern "C" __global__ void __launch_bounds__(1024)
    place_heads(const T* x, i64 n, const i64* starts, const i64* order, T* values, i64* firsts, i64* runs) {
  const i64 begin = i64(blockIdx.x) * PART, end = begin + PART < n ? begin + PART : n;
  i64 have = starts[blockIdx.x];
  for (i64 first = begin; first < end; first += blockDim.x) {
    const i64 i = first + threadIdx.x;
    const bool head = i < end && is_head(x, i);
    const Sums<u32> s = scan_block(u32(head));
    const i64 run = have + s.before + head - 1;
    if (head) {
      values[run] = x[i];
      if (firsts) firsts[run] = i;
    }
    if (runs && i < end) runs[order ? order[i] : i] = run;
    have += s.all;
  }
}
extern "C" __global__ void __launch_bounds__(256) lengths(const i64* firsts, i64 total, i64 n, i64* counts) {
  const i64 k = i64(blockIdx.x) * 256 + threadIdx.x;
  if (k < total) counts[k] = (k + 1 < total ? firsts[k + 1] : n) - firsts[k];
}
