#pragma once
// Finding the first few of long rows, compiled by NVRTC with macros:
//   SELECT 1, V elements of one load, and those of sort.cuh with PAIR at least 8: KEYS is at least as many as are wanted.
#include "cuda/kernels/sort.cuh"

constexpr int kDigit = 11, kBins = 1 << kDigit;

// The bin in which the running count of `counts` passes *left, which becomes how many are wanted of that bin; `same` is its count.
__device__ inline void find_bin(const u32* counts, u32* sums, u32* left, u32* bin, u32* same) {
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  for (int g = threadIdx.x / 32; g < kBins / 32; g += warps) {
    u32 sum = counts[g * 32 + lane];
#pragma unroll
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
    if (lane == 0) sums[g] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    const u32 a = sums[2 * lane], b = sums[2 * lane + 1], wanted = *left;
    u32 up = a + b;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(FULL, up, step);
      if (lane >= step) up += other;
    }
    const u32 below = up - a - b;
    const int from = __ffs(__ballot_sync(FULL, below < wanted && wanted <= up)) - 1;
    u32 base = __shfl_sync(FULL, below, from);
    const u32 first = __shfl_sync(FULL, a, from);
    int group = 2 * from;
    if (wanted > base + first) {
      base += first;
      ++group;
    }
    const u32 own = counts[group * 32 + lane];
    u32 sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(FULL, sum, step);
      if (lane >= step) sum += other;
    }
    const u32 before = base + sum - own;
    if (before < wanted && wanted <= before + own) {
      *bin = group * 32 + lane;
      *left = wanted - before;
      *same = own;
    }
  }
  __syncthreads();
}

// f(place, element) for the elements begin .. end of a row, in no order.
template <class F> __device__ inline void each(const T* row, i64 begin, i64 end, F f) {
  for (i64 c = begin + i64(threadIdx.x) * V; c < end; c += i64(blockDim.x) * V) {
    if (c + V <= end) {
      const Pack<T, V> a = *reinterpret_cast<const Pack<T, V>*>(row + c);
#pragma unroll
      for (int k = 0; k < V; ++k) f(c + k, a.v[k]);
    } else {
      for (i64 k = c; k < end; ++k) f(k, row[k]);
    }
  }
}

// The first `keep` <= KEYS of each part of `per` elements of each row, a block a part: the last of their keys is found 11 bits at a
// time, then they are gathered and sorted. Of the keys equal to the last, those of the first places. To kept (row, part, keep), filled
// with last pairs where a part has fewer; or, where kept is null, to values and places (row, keep).
extern "C" __global__ void __launch_bounds__(1024)
    smallest(const T* x, i64 n, i64 per, Pair* kept, T* values, i64* places, i64 keep, int descending) {
  __shared__ Pair pairs[kSlots];
  __shared__ u32 counts[kBins], sums[kBins / 32];
  __shared__ u32 found, left, bin, same;
  const T* row = x + i64(blockIdx.x) * n;
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < n ? begin + per : n;
  const u32 wanted = u32(keep < end - begin ? keep : end - begin);
  Key prefix = 0, mask = 0;
  if (threadIdx.x == 0) {
    found = 0;
    left = wanted;
    same = 0;
  }
  for (int high = kKeyBits; high > 0;) {
    const int bits = high < kDigit ? high : kDigit, shift = high - bits;
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    each(row, begin, end, [&](i64, T e) {
      const Key k = sortable(e, descending);
      if ((k & mask) == prefix) atomicAdd(&counts[u32(k >> shift) & ((1u << bits) - 1)], 1u);
    });
    __syncthreads();
    find_bin(counts, sums, &left, &bin, &same);
    prefix |= Key(bin) << shift;
    mask |= Key((1u << bits) - 1) << shift;
    high = shift;
    if (same == left) break;  // all of the bin are wanted
  }
  // Wanted are all whose masked key is below `prefix`, and `left` of the `same` that equal it.
  const u32 equal = left;
  const bool all = same == equal;
  for (int i = threadIdx.x; i < KEYS; i += blockDim.x) pairs[slot(i)] = last_pair();
  __syncthreads();
  each(row, begin, end, [&](i64 at, T e) {
    const Key k = sortable(e, descending), masked = k & mask;
    if (masked < prefix || (all && masked == prefix)) pairs[slot(int(atomicAdd(&found, 1u)))] = pair_of(k, u64(at));
  });
  __syncthreads();
  const u32 smaller = found;
  u32 taken = 0;
  for (i64 first = begin; !all && first < end && taken < equal; first += blockDim.x) {
    const i64 i = first + threadIdx.x;
    const bool is = i < end && (sortable(row[i], descending) & mask) == prefix;
    const u32 votes = __ballot_sync(FULL, is);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = __popc(votes);
    __syncthreads();
    u32 before = taken, now = 0;
    for (u32 w = 0; w < blockDim.x / 32; ++w) {
      if (w < threadIdx.x / 32) before += sums[w];
      now += sums[w];
    }
    before += __popc(votes & ((1u << (threadIdx.x % 32)) - 1));
    if (is && before < equal) pairs[slot(int(smaller + before))] = pair_of(sortable(row[i], descending), u64(i));
    taken += now;
    __syncthreads();
  }
  __syncthreads();
  Pair mine[EACH];
  const int lane = threadIdx.x;
  const bool active = lane < kLanes;
  if (active) {
#pragma unroll
    for (int k = 0; k < EACH; ++k) mine[k] = pairs[slot(lane + k * kLanes)];
  }
  __syncthreads();
  sort_pairs(mine, pairs, lane, active);
  __syncthreads();
  for (i64 i = threadIdx.x; i < keep; i += blockDim.x) {
    const Pair p = pairs[slot(int(i))];
    if (kept) {
      kept[(i64(blockIdx.x) * gridDim.y + blockIdx.y) * keep + i] = p;
    } else {
      const i64 at = place_of(p);
      values[i64(blockIdx.x) * keep + i] = row[at];
      places[i64(blockIdx.x) * keep + i] = at;
    }
  }
}

// The first `keep` of each row's `given` <= KEYS pairs, to values and places (row, keep), of rows of n. A block of kLanes a row.
extern "C" __global__ void __launch_bounds__(1024)
    finish(const T* x, const Pair* pairs, i64 n, i64 given, T* values, i64* places, i64 keep) {
  __shared__ Pair shared[kSlots];
  const int lane = threadIdx.x;
  Pair mine[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const i64 i = lane + i64(k) * kLanes;
    mine[k] = lane < kLanes && i < given ? pairs[i64(blockIdx.x) * given + i] : last_pair();
  }
  sort_pairs(mine, shared, lane, lane < kLanes);
  __syncthreads();
  for (i64 i = threadIdx.x; i < keep; i += blockDim.x) {
    const i64 at = place_of(shared[slot(int(i))]);
    values[i64(blockIdx.x) * keep + i] = x[i64(blockIdx.x) * n + at];
    places[i64(blockIdx.x) * keep + i] = at;
  }
}
