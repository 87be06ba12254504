#pragma once
// The dot product of two long vectors, compiled by NVRTC with the macros ELEMENT, C and V: `parts` sums, then their sum.
#include "cuda/kernels/block.cuh"

extern "C" __global__ void __launch_bounds__(512) dot_parts(const T* a, const T* b, C* parts, i64 n) {
  const i64 packs = n / V, first = i64(blockIdx.x) * blockDim.x + threadIdx.x, step = i64(gridDim.x) * blockDim.x;
  C sum[4] = {};
  for (i64 k = first; k < packs; k += 4 * step) {
    Load x[4], y[4];
#pragma unroll
    for (int u = 0; u < 4; ++u)
      if (k + u * step < packs) {
        x[u] = load(a + (k + u * step) * V);
        y[u] = load(b + (k + u * step) * V);
      }
#pragma unroll
    for (int u = 0; u < 4; ++u)
      if (k + u * step < packs)
#pragma unroll
        for (int v = 0; v < V; ++v) sum[u] += wide(x[u].v[v]) * wide(y[u].v[v]);
  }
  for (i64 k = packs * V + first; k < n; k += step) sum[0] += wide(a[k]) * wide(b[k]);
  const C all = across_block(sum[0] + sum[1] + (sum[2] + sum[3]));
  if (threadIdx.x == 0) parts[blockIdx.x] = all;
}
extern "C" __global__ void __launch_bounds__(1024) dot_total(const C* parts, T* out, int count) {
  C sum = 0;
  for (int k = threadIdx.x; k < count; k += blockDim.x) sum += parts[k];
  sum = across_block(sum);
  if (threadIdx.x == 0) *out = cast<T>(sum);
}
