#pragma once
#include "cuda/kernels/skinny_narrow.cuh"

#if TYPE == 0 || TYPE == 3
// Sums over the lanes of LEFT cells: each exchange halves what a lane has left to add.
template <int LEFT, int DISTANCE> __device__ inline void add_lanes(A* sum, int lane) {
  enum { HALF = LEFT > 1 ? LEFT / 2 : 1 };
  const bool upper = lane & DISTANCE;
#pragma unroll
  for (int i = 0; i < HALF; ++i) {
    const A send = LEFT > 1 && !upper ? sum[i + HALF * (LEFT > 1)] : sum[i],
            keep = LEFT > 1 && upper ? sum[i + HALF * (LEFT > 1)] : sum[i];
    sum[i] = keep + __shfl_xor_sync(0xffffffffu, send, DISTANCE);
  }
  if constexpr (DISTANCE > 1) add_lanes<HALF, DISTANCE / 2>(sum, lane);
}

// y = x w^T + bias. A warp takes four features (two of float64) and a split of K, a block GROUPS / splits as many.
template <int ROWS>
__device__ inline void skinny_forward(const T* x, long long ldx, const T* w, long long ldw, const T* bias, T* y,
    long long ldy, int rows, int n, int k, int splits) {
  enum {
    FEATURES = 32 / (2 * sizeof(T)),
    CELLS = FEATURES * ROWS,
    PER_LANE = CELLS > LANES ? CELLS / LANES : 1,
    SHARING = CELLS > LANES ? 1 : LANES / CELLS
  };
  __shared__ A part[GROUPS][CELLS];
  const int lane = threadIdx.x, warp = threadIdx.y, block = blockIdx.x * (GROUPS / splits) * FEATURES,
            first = block + warp / splits * FEATURES;
  A sum[CELLS];
#pragma unroll
  for (int i = 0; i < CELLS; ++i) sum[i] = A(0);
  const T* from[FEATURES];
#pragma unroll
  for (int f = 0; f < FEATURES; ++f) from[f] = w + (first + f < n ? first + f : n - 1) * ldw;
#pragma unroll(ROWS > 8 ? 1 : 2)
  for (int i = (warp % splits * LANES + lane) * VEC; i < k; i += splits * LANES * VEC) {
    Pack b[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; ++f) b[f] = *reinterpret_cast<const Pack*>(from[f] + i);
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
      const Pack a = *reinterpret_cast<const Pack*>(x + (m < rows ? m : 0) * ldx + i);
#pragma unroll
      for (int f = 0; f < FEATURES; ++f)
#pragma unroll
        for (int j = 0; j < VEC; ++j) sum[f * ROWS + m] += a.v[j] * b[f].v[j];
    }
  }
  add_lanes<CELLS, 16>(sum, lane);  // lane l has the cells from l / SHARING * PER_LANE on
#pragma unroll
  for (int i = 0; i < PER_LANE; ++i) part[warp][lane / SHARING * PER_LANE + i] = sum[i];
  __syncthreads();
  for (int i = warp * LANES + lane; i < GROUPS / splits * CELLS; i += GROUPS * LANES) {
    const int group = i / CELLS, cell = i % CELLS, feature = block + group * FEATURES + cell / ROWS, row = cell % ROWS;
    A total = A(0);
    for (int s = 0; s < splits; ++s) total += part[group * splits + s][cell];
    if (row < rows && feature < n) y[row * ldy + feature] = total + (bias ? bias[feature] : A(0));
  }
}

enum { CHUNK = 128 };
template <int ROWS> struct Stage {  // numbers of shared memory: rows of dy, or the warps' sums of eight rows
  enum { DY = CHUNK * (ROWS + VEC), SUMS = GROUPS * (ROWS < 8 ? ROWS : 8) * LANES * VEC, SIZE = DY > SUMS ? DY : SUMS };
};

// Rows of dy, transposed: stage[i * (ROWS + VEC) + m] = dy[m, begin + i].
template <int ROWS>
__device__ inline void stage_rows(A* stage, const T* dy, long long ld_dy, int rows, int begin, int count) {
  __syncthreads();
  for (int i = threadIdx.y * LANES + threadIdx.x; i < CHUNK * ROWS; i += GROUPS * LANES) {
    const int m = i / CHUNK, r = i % CHUNK;
    stage[r * (ROWS + VEC) + m] = m < rows && r < count ? dy[m * ld_dy + begin + r] : A(0);
  }
  __syncthreads();
}

// dx = dy w. A block takes 32 * VEC columns and a share of the rows of w, which its warps share.
template <int ROWS>
__device__ inline void skinny_input(const T* dy, long long ld_dy, const T* w, long long ldw, T* dx, long long ld_dx,
    Wide* partial, unsigned* counters, int rows, int n, int k, int tile, int share, int shares, A* memory) {
  enum { ROUND = ROWS < 8 ? ROWS : 8, ROUNDS = ROWS / ROUND, PITCH = ROWS + VEC, TILE = LANES * VEC };
  const int lane = threadIdx.x, warp = threadIdx.y, column = tile * TILE + lane * VEC;
  const int per = ((n + 15) / 16 + shares - 1) / shares * 16, begin = share * per,
            end = begin + per < n ? begin + per : n;
  A sum[ROWS][VEC];
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int j = 0; j < VEC; ++j) sum[m][j] = A(0);
  const T* from = w + (column < k ? column : k - VEC);
  for (int base = begin; base < end; base += CHUNK) {
    const int count = end - base < CHUNK ? end - base : CHUNK;
    stage_rows<ROWS>(memory, dy, ld_dy, rows, base, count);
#pragma unroll 4
    for (int r = warp; r < count; r += GROUPS) {
      const Pack b = *reinterpret_cast<const Pack*>(from + (base + r) * ldw);
#pragma unroll
      for (int m = 0; m < ROWS; m += VEC) {
        const Pack a = *reinterpret_cast<const Pack*>(memory + r * PITCH + m);
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
          for (int j = 0; j < VEC; ++j) sum[m + i][j] += a.v[i] * b.v[j];
      }
    }
  }
  A total[ROUNDS][VEC];
#pragma unroll
  for (int q = 0; q < ROUNDS; ++q) {  // the warps' sums, eight rows at a time
    __syncthreads();
#pragma unroll
    for (int m = 0; m < ROUND; ++m)
#pragma unroll
      for (int j = 0; j < VEC; ++j) memory[(warp * ROUND + m) * TILE + lane * VEC + j] = sum[q * ROUND + m][j];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < VEC; ++j) total[q][j] = A(0);
    if (warp < ROUND)
      for (int g = 0; g < GROUPS; ++g)
#pragma unroll
        for (int j = 0; j < VEC; ++j) total[q][j] += memory[(g * ROUND + warp) * TILE + lane * VEC + j];
  }
  if (!add_shares<ROUNDS>(
          total, partial + (long long)tile * shares * ROUNDS * (GROUPS * LANES), counters + tile, share, shares))
    return;
  if (warp >= ROUND || column >= k) return;
#pragma unroll
  for (int q = 0; q < ROUNDS; ++q) {
    if (q * ROUND + warp >= rows) continue;
    Pack out;
#pragma unroll
    for (int j = 0; j < VEC; ++j) out.v[j] = total[q][j];
    *reinterpret_cast<Pack*>(dx + (q * ROUND + warp) * ld_dx + column) = out;
  }
}

// dw = dy^T x, and what is there already if `add`, for 32 * VEC columns, and rows begin ... end of dw.
template <int ROWS>
__device__ inline void skinny_weight(const T* dy, long long ld_dy, const T* x, long long ldx, T* dw, long long ld_dw,
    int rows, int k, int tile, int begin, int end, int add, A* memory) {
  enum { PITCH = ROWS + VEC };
  const int lane = threadIdx.x, warp = threadIdx.y, column = (tile * LANES + lane) * VEC;
  Pack b[ROWS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
#pragma unroll
    for (int j = 0; j < VEC; ++j) b[m].v[j] = A(0);
    if (m < rows && column < k) b[m] = *reinterpret_cast<const Pack*>(x + m * ldx + column);
  }
  for (int base = begin; base < end; base += CHUNK) {
    const int count = end - base < CHUNK ? end - base : CHUNK;
    stage_rows<ROWS>(memory, dy, ld_dy, rows, base, count);
#pragma unroll 2
    for (int r = warp; r < count; r += GROUPS) {
      Pack* const to = reinterpret_cast<Pack*>(dw + (base + r) * ld_dw + column);
      Pack out;
      if (add && column < k) {
        out = *to;
      } else {
#pragma unroll
        for (int j = 0; j < VEC; ++j) out.v[j] = A(0);
      }
#pragma unroll
      for (int m = 0; m < ROWS; m += VEC) {
        const Pack a = *reinterpret_cast<const Pack*>(memory + r * PITCH + m);
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
          for (int j = 0; j < VEC; ++j) out.v[j] += a.v[i] * b[m + i].v[j];
      }
      if (column < k) *to = out;
    }
  }
}
#endif
