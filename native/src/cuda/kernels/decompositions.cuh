#pragma once
// Small matrices, a block each, compiled by NVRTC with the macros ELEMENT, C (the same: float or double), V (1) and ROWS, the
// most rows that Cholesky's factor is made of.
#include "cuda/kernels/block.cuh"

// Cholesky's factor of the triangle that it fills, by columns; rows and columns from the first minor on that is not definite are
// zero, and `info` has its order.
extern "C" __global__ void __launch_bounds__(512) cholesky(const T* a, T* out, int* info, int n, int upper) {
  __shared__ T part[ROWS * (ROWS + 1) / 2];  // rows of the lower triangle, one after the other
  const auto at = [&](int i, int j) -> T& { return part[i * (i + 1) / 2 + j]; };
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const i64 all = i64(blockIdx.x) * n * n;
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    const int i = e / n, j = e % n;
    if (upper ? i <= j : j <= i) at(max(i, j), min(i, j)) = a[all + e];
  }
  __syncthreads();
  int order = n;
  for (int j = 0; j < n; ++j) {
    const T pivot = at(j, j);
    if (!(pivot > T(0))) {
      order = j;
      break;
    }
    const T root = sqrt(pivot);
    __syncthreads();
    for (int i = j + threadIdx.x; i < n; i += blockDim.x) at(i, j) = i == j ? root : at(i, j) / root;
    __syncthreads();
    for (int i = j + 1 + warp; i < n; i += warps) {
      const T factor = at(i, j);
      for (int k = j + 1 + lane; k <= i; k += 32) at(i, k) -= factor * at(k, j);
    }
    __syncthreads();
  }
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    const int column = e / n, row = e % n;
    const bool filled = (upper ? row <= column : row >= column) && max(row, column) < order;
    out[all + e] = filled ? at(max(row, column), min(row, column)) : T(0);
  }
  if (threadIdx.x == 0) info[blockIdx.x] = order < n ? order + 1 : 0;
}

// X of A X = B by elimination with row pivots, X by columns; B is the identity where null. `work` has n rows of A and B a matrix; `info` the
// place (from 1) of the first pivot that is zero, or 0.
extern "C" __global__ void __launch_bounds__(1024) solve_systems(const T* a, const T* b, T* work, T* x, int* info,
    int n, int columns, int a_row, int a_column, int b_row, int b_column) {
  __shared__ int chosen, failed;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, whole = n + columns;
  const i64 system = blockIdx.x;
  T* w = work + system * n * whole;
  for (int i = warp; i < n; i += warps)
    for (int k = lane; k < whole; k += 32)
      w[i * whole + k] = k < n ? a[system * n * n + i * a_row + k * a_column]
                         : b   ? b[system * n * columns + i * b_row + (k - n) * b_column]
                               : T(i == k - n);
  if (threadIdx.x == 0) failed = 0;
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    if (warp == 0) {
      T best = T(-1);
      int at = j;
      for (int i = j + lane; i < n; i += 32) {
        const T size = T(fabs(w[i * whole + j]));
        if (size > best) {
          best = size;
          at = i;
        }
      }
#pragma unroll
      for (int step = 16; step; step /= 2) {
        const T other = __shfl_xor_sync(FULL, best, step);
        const int place = __shfl_xor_sync(FULL, at, step);
        if (other > best || (other == best && place < at)) {
          best = other;
          at = place;
        }
      }
      if (lane == 0) {
        chosen = at;
        if (best == T(0) && !failed) failed = j + 1;
      }
    }
    __syncthreads();
    const int from = chosen;
    if (from != j)
      for (int k = j + threadIdx.x; k < whole; k += blockDim.x) {
        const T kept = w[j * whole + k];
        w[j * whole + k] = w[from * whole + k];
        w[from * whole + k] = kept;
      }
    __syncthreads();
    const T pivot = w[j * whole + j];
    if (pivot == T(0)) continue;
    for (int i = j + 1 + warp; i < n; i += warps) {
      const T factor = w[i * whole + j] / pivot;
#pragma unroll 4
      for (int k = j + 1 + lane; k < whole; k += 32) w[i * whole + k] -= factor * w[j * whole + k];
    }
    __syncthreads();
  }
  for (int j = n - 1; j >= 0; --j) {
    const T pivot = w[j * whole + j];
    for (int k = n + threadIdx.x; k < whole; k += blockDim.x) w[j * whole + k] /= pivot;
    __syncthreads();
    for (int i = warp; i < j; i += warps) {
      const T factor = w[i * whole + j];
#pragma unroll 4
      for (int k = n + lane; k < whole; k += 32) w[i * whole + k] -= factor * w[j * whole + k];
    }
    __syncthreads();
  }
  for (int e = threadIdx.x; e < n * columns; e += blockDim.x)
    x[system * n * columns + e] = w[e % n * whole + n + e / n];
  if (threadIdx.x == 0) info[system] = failed;
}

// Singular values and vectors by rotations of pairs of columns until all are orthogonal (Hestenes), for m >= n: a warp a pair, all
// pairs in rounds in which no two have a column in common. Vector r's element i lies at i * left_step + r * left_next, or
// likewise `right`. `failed` is set where a value is zero or not finite, or rotations do not end.
struct Vectors {
  int left_step, left_next, right_step, right_next;
};
extern "C" __global__ void __launch_bounds__(1024) singular_vectors(const T* a, T* columns, T* turns, T* left,
    T* values, T* right, int* failed, int m, int n, int row, int column, Vectors to) {
  __shared__ T size[256];
  __shared__ int turned;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, even = n + n % 2;
  const i64 matrix = blockIdx.x;
  T *x = columns + matrix * m * n, *v = turns + matrix * n * n;
  for (int e = threadIdx.x; e < m * n; e += blockDim.x) x[e] = a[matrix * m * n + e % m * row + e / m * column];
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) v[e] = T(e / n == e % n);
  const T bound = (sizeof(T) == 4 ? T(1.1920929e-7) : T(2.220446049250313e-16)) * sqrt(T(m));
  bool ends = false;
  for (int sweep = 0; sweep < 60 && !ends; ++sweep) {
    __syncthreads();
    if (threadIdx.x == 0) turned = 0;
    __syncthreads();
    for (int round = 0; round < even - 1; ++round) {
      for (int pair = warp; pair < even / 2; pair += warps) {
        const int p = pair ? (round + pair) % (even - 1) : even - 1, q = (round + even - 1 - pair) % (even - 1);
        if (p >= n || q >= n) continue;
        T *f = x + p * m, *g = x + q * m, ff = 0, gg = 0, fg = 0;
        for (int i = lane; i < m; i += 32) {
          ff += f[i] * f[i];
          gg += g[i] * g[i];
          fg += f[i] * g[i];
        }
#pragma unroll
        for (int step = 16; step; step /= 2) {
          ff += __shfl_xor_sync(FULL, ff, step);
          gg += __shfl_xor_sync(FULL, gg, step);
          fg += __shfl_xor_sync(FULL, fg, step);
        }
        if (!(T(fabs(fg)) > bound * sqrt(ff) * sqrt(gg))) continue;
        const T slope = (gg - ff) / (T(2) * fg),
                t = (slope < T(0) ? T(-1) : T(1)) / (T(fabs(slope)) + sqrt(T(1) + slope * slope)),
                c = T(1) / sqrt(T(1) + t * t), s = t * c;
        for (int i = lane; i < m; i += 32) {
          const T one = f[i], other = g[i];
          f[i] = c * one - s * other;
          g[i] = s * one + c * other;
        }
        f = v + p * n;
        g = v + q * n;
        for (int i = lane; i < n; i += 32) {
          const T one = f[i], other = g[i];
          f[i] = c * one - s * other;
          g[i] = s * one + c * other;
        }
        turned = 1;
      }
      __syncthreads();
    }
    ends = !turned;
  }
  for (int j = warp; j < n; j += warps) {
    T sum = 0;
    for (int i = lane; i < m; i += 32) sum += x[j * m + i] * x[j * m + i];
#pragma unroll
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
    size[j] = sqrt(sum);
    // Squares must neither have vanished nor have grown beyond all numbers.
    if (!ends || !(sum > (sizeof(T) == 4 ? T(1e-30f) : T(1e-290)) && sum < (sizeof(T) == 4 ? T(1e37f) : T(1e300))))
      *failed = 1;
  }
  __syncthreads();
  for (int j = warp; j < n; j += warps) {
    const T own = size[j];
    int rank = 0;
    for (int k = 0; k < n; ++k) rank += size[k] > own || (size[k] == own && k < j);
    if (lane == 0) values[matrix * n + rank] = own;
    for (int i = lane; i < m; i += 32)
      left[matrix * m * n + i * to.left_step + rank * to.left_next] = x[j * m + i] / own;
    for (int i = lane; i < n; i += 32) right[matrix * n * n + i * to.right_step + rank * to.right_next] = v[j * n + i];
  }
}
