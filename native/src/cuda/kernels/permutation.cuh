#pragma once
// A permutation of few numbers: the ranks of keys that are drawn here, in every block all of them.
#include "cuda/kernels/philox.cuh"

constexpr int kMostKeys = 4096;
// out[the rank of i's key] = i: as sorting draws of [0, 2**62) gives it. A thread ranks one key.
extern "C" __global__ void __launch_bounds__(128) permutation(i64* out, int n, u64 seed, u64 start) {
  __shared__ u64 keys[kMostKeys + 1];
  for (int block = threadIdx.x; 2 * block < n; block += 128) {
    const Words w = philox(seed, start + block);
    constexpr u64 below = (u64(1) << 62) - 1;
    keys[2 * block] = (u64(w.v[0]) << 32 | w.v[1]) & below;
    keys[2 * block + 1] = (u64(w.v[2]) << 32 | w.v[3]) & below;
  }
  __syncthreads();
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const u64 own = keys[i];
  int rank = 0;
#pragma unroll 8
  for (int k = 0; k < n; ++k) rank += keys[k] < own || (keys[k] == own && k < i);
  out[rank] = i;
}
