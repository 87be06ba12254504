#pragma once
// Reading rows backwards, compiled by NVRTC with macros:
//   ELEMENT an unsigned type of the elements' size, V elements of one access: rows are whole ones.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
typedef Pack<T, V> Load;
// The other dimensions, innermost first, and their steps in `from`, which points to the first row to read.
struct Outer {
  i64 size[8], step[8];
  int dims;
};

// out, contiguous, of rows of `n`: each the row of `from` from its end to its beginning.
extern "C" __global__ void __launch_bounds__(256) flip(T* out, const T* from, i64 packs, i64 n, Outer g) {
  const i64 first = i64(blockIdx.x) * 512 + threadIdx.x;
  const u32 per_row = u32(n / V);
  Load a[2];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const i64 p = first + 256 * u;
    if (p >= packs) continue;
    i64 row = p / per_row;
    const i64 c = p - row * per_row;
    const T* line = from;
#pragma unroll
    for (int d = 0; d < 8; ++d) {
      if (d == g.dims) break;
      if (d + 1 == g.dims) {
        line += row * g.step[d];
        break;
      }
      const i64 q = row / g.size[d];
      line += (row - q * g.size[d]) * g.step[d];
      row = q;
    }
    a[u] = *reinterpret_cast<const Load*>(line + n - (c + 1) * V);
  }
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const i64 p = first + 256 * u;
    if (p >= packs) continue;
    Load r;
#pragma unroll
    for (int k = 0; k < V; ++k) r.v[k] = a[u].v[V - 1 - k];
    *reinterpret_cast<Load*>(out + p * V) = r;
  }
}
