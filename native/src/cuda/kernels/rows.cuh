#pragma once
// What works along a dimension, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type it is computed in, OUT the results', V elements of one load, LOADS loads of a row that a thread keeps
//   (0: they are made again), LARGEST 1 for the largest and 0 for the smallest, LOG 1 for log_softmax.
#include "cuda/kernels/block.cuh"

#include "cuda/kernels/row_softmax.cuh"

#include "cuda/kernels/row_extremes.cuh"

#ifdef MOMENTS
// The variance of each row (its root where ROOT), and its mean where asked for.
extern "C" __global__ void __launch_bounds__(1024)
    variance(const T* x, OUT* variances, OUT* means, i64 cols, double freedom, int root) {
  const T* from = x + i64(blockIdx.x) * cols;
  C sum = 0, squares = 0;
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
#pragma unroll
    for (int k = 0; k < V; ++k) sum += wide(a.v[k]);
  }
  const C mean = across_block(sum) / C(cols);
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C d = wide(a.v[k]) - mean;
      squares += d * d;
    }
  }
  squares = across_block(squares) / C(freedom > 0 ? freedom : 0);
  if (threadIdx.x) return;
  variances[blockIdx.x] = cast<OUT>(root ? sqrt(squares) : squares);
  if (means) means[blockIdx.x] = cast<OUT>(mean);
}
#endif

#ifdef MAKES
// out[i] = start + i * step
extern "C" __global__ void __launch_bounds__(256) ramp(T* out, i64 n, C start, C step) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) out[i] = cast<T>(C(start + C(i) * step));
}
// Rows by columns matrices: x where column - row is at most (`upper`: at least) diagonal, else 0.
extern "C" __global__ void __launch_bounds__(256)
    triangle(const T* x, T* out, i64 total, i64 rows, i64 cols, i64 diagonal, int upper) {
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
  if (first >= total) return;
  const i64 line = first / cols, c = first - line * cols, r = line % rows;
  const bool some = upper ? c + V - 1 - r >= diagonal : c - r <= diagonal;
  Load a;
  T zero;
  for (u64 k = 0; k < sizeof(T); ++k) reinterpret_cast<u8*>(&zero)[k] = 0;
  if (some) a = load(x + first);
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (!some || (upper ? c + k - r < diagonal : c + k - r > diagonal)) a.v[k] = zero;
  store(out + first, a);
}
#endif
