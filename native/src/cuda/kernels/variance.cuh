#pragma once
// Variances down the columns of matrices, compiled by NVRTC with macros:
//   ELEMENT the element type, C the compute type, V columns of a thread.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
struct alignas(sizeof(T) * V) Load {
  T v[V];
};
struct Moments {
  C count, mean, squares;
};  // squares: the sum of squared distances to the mean
__device__ inline Moments joined(const Moments& a, const Moments& b) {
  if (b.count == C(0)) return a;
  if (a.count == C(0)) return b;
  const C count = a.count + b.count, apart = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}

// Of the rows of one part of matrix (outer, rows, cols): partial[part, outer, col]. 32 x 8 threads; the grid's x counts groups of columns of all
// matrices, its y the parts.
extern "C" __global__ void __launch_bounds__(256)
    column_moments(const T* x, Moments* partial, i64 rows, i64 cols, i64 groups, i64 each, i64 lines) {
  const i64 outer = blockIdx.x / groups, column = ((blockIdx.x - outer * groups) * 32 + threadIdx.x) * V;
  const i64 begin = i64(blockIdx.y) * each, end = begin + each < rows ? begin + each : rows;
  C mean[V], squares[V], count = 0;
#pragma unroll
  for (int k = 0; k < V; ++k) mean[k] = squares[k] = C(0);
  if (column < cols) {
    const T* from = x + outer * rows * cols + column;
    const auto take = [&](const Load& a) {
      count += C(1);
      const C share = C(1) / count;
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const C value = cast<C>(a.v[k]), apart = value - mean[k];
        mean[k] += apart * share;
        squares[k] += apart * (value - mean[k]);
      }
    };
    i64 r = begin + threadIdx.y;
    for (; r + 24 < end; r += 32) {  // four rows on their way together
      Load a[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) a[u] = *reinterpret_cast<const Load*>(from + (r + 8 * u) * cols);
#pragma unroll
      for (int u = 0; u < 4; ++u) take(a[u]);
    }
    for (; r < end; r += 8) take(*reinterpret_cast<const Load*>(from + r * cols));
  }
  __shared__ Moments shared[8][32];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    __syncthreads();
    shared[threadIdx.y][threadIdx.x] = {count, mean[k], squares[k]};
    __syncthreads();
    if (threadIdx.y == k % 8 && column < cols) {
      Moments m = shared[0][threadIdx.x];
#pragma unroll
      for (int y = 1; y < 8; ++y) m = joined(m, shared[y][threadIdx.x]);
      partial[i64(blockIdx.y) * lines + outer * cols + column + k] = m;
    }
  }
}

// The variance of each line (its root where `root`), and its mean where asked for.
extern "C" __global__ void __launch_bounds__(256) column_variances(
    const Moments* partial, T* variances, T* means, i64 lines, int parts, double correction, int root) {
  const i64 line = i64(blockIdx.x) * 256 + threadIdx.x;
  if (line >= lines) return;
  Moments m = partial[line];
  for (int k = 1; k < parts; ++k) m = joined(m, partial[k * lines + line]);
  const C v = m.squares / C(double(m.count) - correction);
  variances[line] = cast<T>(root ? C(sqrt(v)) : v);
  if (means) means[line] = cast<T>(m.mean);
}
