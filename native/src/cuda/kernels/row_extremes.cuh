#pragma once
// The part LARGEST of rows.cuh: the greatest or the least along a dimension.
#include "cuda/kernels/block.cuh"

#ifdef LARGEST
// --- extremes and their places: the first NaN before all, the first of equal ones -------------------------------------

struct Best {
  C value;
  i64 at;
};
__device__ inline bool before(const Best& a, const Best& b) {
  if (a.at < 0 || b.at < 0) return b.at < 0;
  const bool na = a.value != a.value, nb = b.value != b.value;
  if (na || nb) return na && nb ? a.at < b.at : na;
  if (a.value == b.value) return a.at < b.at;
  return LARGEST ? a.value > b.value : a.value < b.value;
}
// Whether the next element of a thread's own, in order, is better than what it has.
__device__ inline bool better(C next, const Best& b) {
  if (LARGEST ? next > b.value : next < b.value) return b.value == b.value || b.at < 0;
  return b.at < 0 || (next != next && b.value == b.value);
}
__device__ inline Best best_of_block(Best b) {
  __shared__ Best shared[32];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / 32;
  for (int round = 0; round < 2; ++round) {
#pragma unroll
    for (int step = 16; step; step /= 2) {
      Best o;
      o.value = __shfl_xor_sync(FULL, b.value, step);
      o.at = __shfl_xor_sync(FULL, b.at, step);
      if (before(o, b)) b = o;
    }
    if (round) return b;
    if (thread % 32 == 0) shared[thread / 32] = b;
    __syncthreads();
    b = thread % 32 < warps ? shared[thread % 32] : Best{C(0), -1};
  }
  return b;
}

// Rows of neighbouring elements, each cut into gridDim.y parts: the best of each part.
extern "C" __global__ void __launch_bounds__(1024)
    extreme_rows(const T* x, OUT* values, i64* places, i64 cols, i64 per) {
  const T* from = x + i64(blockIdx.x) * cols;
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < cols ? begin + per : cols;
  Best b = {C(0), -1};
  constexpr int kAhead = 4;  // loads that are under way together
  const i64 stride = i64(blockDim.x) * V;
  i64 c = begin + i64(threadIdx.x) * V;
  for (; c + (kAhead - 1) * stride + V <= end; c += kAhead * stride) {
    Load a[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) a[u] = load(from + c + u * stride);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const C next = wide(a[u].v[k]);
        if (better(next, b)) {
          b.value = next;
          b.at = c + u * stride + k;
        }
      }
    }
  }
  for (; c < end; c += stride) {
    if (c + V <= end) {
      const Load a = load(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const C next = wide(a.v[k]);
        if (better(next, b)) {
          b.value = next;
          b.at = c + k;
        }
      }
    } else {
      for (i64 k = c; k < end; ++k) {
        const C next = wide(from[k]);
        if (better(next, b)) {
          b.value = next;
          b.at = k;
        }
      }
    }
  }
  b = best_of_block(b);
  const i64 to = i64(blockIdx.x) * gridDim.y + blockIdx.y;
  if (threadIdx.x == 0) {
    if (values) values[to] = cast<OUT>(b.value);
    places[to] = b.at;
  }
}
// The best of `parts` bests.
extern "C" __global__ void __launch_bounds__(1024)
    extreme_parts(const C* found, const i64* at, OUT* values, i64* places, i64 parts) {
  Best b = {C(0), -1};
  for (i64 k = threadIdx.x; k < parts; k += blockDim.x) {
    const Best o = {found[i64(blockIdx.x) * parts + k], at[i64(blockIdx.x) * parts + k]};
    if (before(o, b)) b = o;
  }
  b = best_of_block(b);
  if (threadIdx.x == 0) {
    if (values) values[blockIdx.x] = cast<OUT>(b.value);
    places[blockIdx.x] = b.at;
  }
}
// (outer, n, inner) over n: 32 neighbouring columns and up to 32 parts of n a block.
extern "C" __global__ void __launch_bounds__(1024)
    extreme_columns(const T* x, OUT* values, i64* places, i64 n, i64 inner) {
  __shared__ Best shared[32][32];
  const i64 column = i64(blockIdx.x) * 32 + threadIdx.x;
  Best b = {C(0), -1};
  if (column < inner) {
    const T* from = x + i64(blockIdx.y) * n * inner + column;
    constexpr int kAhead = 4;  // loads that are under way together
    const i64 parts = blockDim.y;
    i64 k = threadIdx.y;
    for (; k + (kAhead - 1) * parts < n; k += kAhead * parts) {
      C next[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) next[u] = wide(from[(k + u * parts) * inner]);
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (better(next[u], b)) {
          b.value = next[u];
          b.at = k + u * parts;
        }
    }
    for (; k < n; k += parts) {
      const C next = wide(from[k * inner]);
      if (better(next, b)) {
        b.value = next;
        b.at = k;
      }
    }
  }
  shared[threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y || column >= inner) return;
  for (int k = 1; k < blockDim.y; ++k)
    if (before(shared[k][threadIdx.x], b)) b = shared[k][threadIdx.x];
  const i64 to = i64(blockIdx.y) * inner + column;
  if (values) values[to] = cast<OUT>(b.value);
  places[to] = b.at;
}
#endif
