#pragma once
// The elements of a rank, and the most frequent ones, compiled by NVRTC with the macro
// ELEMENT, the element type. A block a row of n elements.
#include "cuda/kernels/keys.cuh"

template <class X> __device__ inline bool unknown(X x) {
  if constexpr (is_narrow<X>)
    return widen(x) != widen(x);
  else if constexpr (is_float<X>)
    return x != x;
  else
    return false;
}
template <class X> __device__ inline bool alike(X a, X b) {
  if constexpr (is_narrow<X>)
    return widen(a) == widen(b);
  else if constexpr (same_type<X, Bool>::value)
    return (a.v != 0) == (b.v != 0);
  else
    return a == b;
}

// The k-th smallest (from 1) of each row, of equals the one that a stable sort has there. KIND 0: for this k; 1: the median, or the first that
// is no number; 2: the median of the numbers, or the first where there are none. Found 8 bits at a time; `places` may be null.
extern "C" __global__ void __launch_bounds__(1024) ranked(const T* x, i64 n, i64 k, int kind, T* values, i64* places) {
  __shared__ u32 counts[256], sums[32], bin, left, same, none;
  const T* row = x + i64(blockIdx.x) * n;
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Key prefix = 0, mask = 0;
  u32 wanted = u32(k);
  if (threadIdx.x == 0) none = 0;
  for (int shift = kKeyBits - 8; shift >= 0; shift -= 8) {
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const T e = row[i];
      const Key key = key_of(e);
      if ((key & mask) == prefix) atomicAdd(&counts[u32(key >> shift) & 255], 1u);
      if (kind && mask == 0 && unknown(e)) atomicAdd(&none, 1u);
    }
    __syncthreads();
    if (kind && mask == 0) {
      const u32 known = u32(n) - none;
      if (kind == 2)
        wanted = known ? (known - 1) / 2 + 1 : 1;
      else if (none)
        wanted = known + 1;
    }
    if (threadIdx.x < 32) {
      u32 own = 0;
#pragma unroll
      for (int j = 0; j < 8; ++j) own += counts[8 * lane + j];
      u32 up = own;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const u32 other = __shfl_up_sync(FULL, up, step);
        if (lane >= step) up += other;
      }
      u32 before = up - own;
      if (before < wanted && wanted <= up) {
        u32 b = 8 * lane;
        while (wanted > before + counts[b]) before += counts[b++];
        bin = b;
        left = wanted - before;
        same = counts[b];
      }
    }
    __syncthreads();
    prefix |= Key(bin) << shift;
    mask |= Key(255) << shift;
    wanted = left;
    if (same == 1) break;  // no other begins with these bits
  }
  const auto found = [&](i64 i) {
    values[blockIdx.x] = row[i];
    if (places) places[blockIdx.x] = i;
  };
  if (same == 1) {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x)
      if ((key_of(row[i]) & mask) == prefix) found(i);
    return;
  }
  u32 taken = 0;
  for (i64 first = 0; first < n && taken < wanted; first += blockDim.x) {
    const i64 i = first + threadIdx.x;
    const bool is = i < n && (key_of(row[i]) & mask) == prefix;
    const u32 votes = __ballot_sync(FULL, is);
    if (lane == 0) sums[warp] = __popc(votes);
    __syncthreads();
    u32 before = taken;
    for (u32 w = 0; w < blockDim.x / 32; ++w) {
      if (w < warp) before += sums[w];
      taken += sums[w];
    }
    before += __popc(votes & ((1u << lane) - 1));
    if (is && before + 1 == wanted) found(i);
    __syncthreads();
  }
}

// Of sorted rows the value of the longest run, of equally long ones the first; `order` tells where the sorted elements were, of which the run's
// last is given. What is no number is a run of its own.
extern "C" __global__ void __launch_bounds__(1024)
    most_frequent(const T* x, const i64* order, i64 n, T* values, i64* places) {
  __shared__ u64 bests[32];
  const T* row = x + i64(blockIdx.x) * n;
  u64 best = 0;  // the run's length, then how far its beginning is from the end of numbers
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
    const T e = row[i];
    if (i && alike(row[i - 1], e)) continue;
    i64 low = i + 1, high = i + 1;  // the run ends between them
    for (i64 step = 1; high < n && alike(row[high], e); step *= 2) {
      low = high + 1;
      high = high + step < n ? high + step : n;
    }
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (alike(row[middle], e))
        low = middle + 1;
      else
        high = middle;
    }
    const u64 run = u64(low - i) << 32 | u32(~u32(i));
    if (run > best) best = run;
  }
#pragma unroll
  for (int step = 16; step; step /= 2) {
    const u64 other = __shfl_xor_sync(FULL, best, step);
    if (other > best) best = other;
  }
  if (threadIdx.x % 32 == 0) bests[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x) return;
  for (u32 w = 1; w < blockDim.x / 32; ++w)
    if (bests[w] > best) best = bests[w];
  const i64 last = i64(u32(~u32(best))) + i64(best >> 32) - 1;
  values[blockIdx.x] = row[last];
  places[blockIdx.x] = order[i64(blockIdx.x) * n + last];
}
