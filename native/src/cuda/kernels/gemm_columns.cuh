#pragma once
// Column sums and activations.
#include "cuda/kernels/gemm_activations.cuh"

// With a launch that may begin before the kernel ahead of it has ended: waits for that one and for what it wrote.
__device__ inline void wait_for_inputs() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// dz = dy * act'(kept) (not for SUM), db = column sums of it, or of dy (db may be null). Blocks of 32 x 8 threads; blockIdx.x
// takes 32 * VEC columns, blockIdx.y a share of the rows. With several shares the block that comes last adds the partial sums
// in order and leaves its counter at zero for the next launch.
template <int MODE>
__device__ inline void columns(const T* dy, long long ld_dy, const T* kept, long long ld_kept, T* dz, long long ld_dz,
    T* db, A* partial, unsigned* counters, long long rows, int cols, int wide) {
  enum {
    TILE = LANES * VEC,
    BATCH = MODE == SUM      ? 8
            : sizeof(T) == 8 ? 2
                             : 4,
    PACKS = TILE / WIDE,
    PARTS = LANES * GROUPS / PACKS
  };
  __shared__ A tile[GROUPS][TILE + 1];
  __shared__ bool last;
  const int lane = threadIdx.x, group = threadIdx.y, first = (blockIdx.x * LANES + lane) * VEC, left = cols - first;
  const bool whole = wide && left >= VEC;
  A sum[VEC];
#pragma unroll
  for (int i = 0; i < VEC; ++i) sum[i] = A(0);
  const long long share = (rows + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * share,
                  end = begin + share < rows ? begin + share : rows;
  const long long row = begin + group;
  const int count = left > 0 && row < end ? int((end - row + GROUPS - 1) / GROUPS) : 0;
  const T *from = dy + row * ld_dy + first, *beside = kept + row * ld_kept + first;
  T* to = dz + row * ld_dz + first;
  Pack g[BATCH], z[BATCH];
  for (int i = 0; i < count; i += BATCH) {  // many loads under way before the first is used
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
      g[q] = load < MODE != SUM > (from, left, whole);
      if (MODE != SUM) z[q] = load<true>(beside, left, whole);
      if (i + q + 1 >= count) continue;  // past the last row it is read again, and not used
      from += GROUPS * ld_dy;
      beside += GROUPS * ld_kept;
    }
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
      if (i + q >= count) break;
      A v[VEC];
#pragma unroll
      for (int j = 0; j < VEC; ++j) {
        v[j] = MODE == SUM ? get(g[q].v[j]) : slope<MODE>(get(g[q].v[j]), get(z[q].v[j]));
        sum[j] += v[j];
      }
      if (MODE == SUM) continue;
      store(to, rounded(v), left, whole);
      to += GROUPS * ld_dz;
    }
  }
  const int flat = group * LANES + lane, column = blockIdx.x * TILE + flat;
  const bool mine = flat < TILE && column < cols;
  A* own = partial + (long long)blockIdx.x * gridDim.y * TILE;
  A total = A(0);
  if (!db) return;
#pragma unroll
  for (int j = 0; j < VEC; ++j) tile[group][lane * VEC + j] = sum[j];
  __syncthreads();
  if (mine)
    for (int g = 0; g < GROUPS; ++g) total += tile[g][flat];
  if (gridDim.y == 1) {
    if (mine) db[column] = put(total);
    return;
  }
  if (flat < TILE) own[blockIdx.y * TILE + flat] = total;
  __syncthreads();
  if (flat == 0) {  // its fences are those of the whole block, which it met before and meets after
    __threadfence();
    last = atomicAdd(counters + blockIdx.x, 1u) == gridDim.y - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  const int part = flat / PACKS, pack = flat % PACKS;  // several threads a column, each every PARTS-th share
  A some[WIDE];
#pragma unroll
  for (int i = 0; i < WIDE; ++i) some[i] = A(0);
#pragma unroll 8
  for (int s = part; s < int(gridDim.y); s += PARTS)
    add(some, __ldcg(reinterpret_cast<const Wide*>(own + s * TILE) + pack));
#pragma unroll
  for (int i = 0; i < WIDE; ++i) tile[part][pack * WIDE + i] = some[i];
  __syncthreads();
  if (mine) {
    total = A(0);
    for (int g = 0; g < PARTS; ++g) total += tile[g][flat];
    db[column] = put(total);
  }
  if (flat == 0) counters[blockIdx.x] = 0;
}

template <int MODE> __device__ inline Pack activated(const Pack& z) {
  A v[VEC];
#pragma unroll
  for (int k = 0; k < VEC; ++k) v[k] = act<MODE>(get(z.v[k]));
  return rounded(v);
}

// Where rows lie one after the other they are taken as one; several loads are under way at a time.
template <int MODE>
__device__ inline void activate(const T* z, long long ld_z, T* y, long long ld_y, long long rows, int cols, int wide) {
  enum { BATCH = 4 };
  const bool flat = ld_z == cols && ld_y == cols && cols % VEC == 0 && wide;
  const int packs = (cols + VEC - 1) / VEC;
  const long long all = rows * packs, step = (long long)gridDim.x * blockDim.x;
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (; flat && i + (BATCH - 1) * step < all; i += BATCH * step) {
    Pack p[BATCH];
#pragma unroll
    for (int q = 0; q < BATCH; ++q) p[q] = *reinterpret_cast<const Pack*>(z + (i + q * step) * VEC);
#pragma unroll
    for (int q = 0; q < BATCH; ++q) *reinterpret_cast<Pack*>(y + (i + q * step) * VEC) = activated<MODE>(p[q]);
  }
  for (; i < all; i += step) {
    const long long row = flat ? 0 : i / packs;
    const long long first = (i - row * packs) * VEC;
    const int left = flat ? VEC : cols - int(first);
    const bool whole = wide && left >= VEC;
    store(y + row * ld_y + first, activated<MODE>(load(z + row * ld_z + first, left, whole)), left, whole);
  }
}

// y = x w^T + bias for at most ROWS rows: one warp a row of w, which is read once. K is a multiple of VEC, all is aligned.
template <int ROWS>
__device__ inline void few_rows(
    const T* x, long long ldx, const T* w, long long ldw, const T* bias, T* y, long long ldy, int rows, int n, int k) {
  const int row = blockIdx.x * GROUPS + threadIdx.y, lane = threadIdx.x;
  if (row >= n) return;
  A sum[ROWS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m) sum[m] = A(0);
  const T* own = w + row * ldw;
#pragma unroll 2
  for (int i = lane * VEC; i < k; i += LANES * VEC) {
    const Pack b = *reinterpret_cast<const Pack*>(own + i);
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
      if (m >= rows) break;
      const Pack a = *reinterpret_cast<const Pack*>(x + m * ldx + i);
#pragma unroll
      for (int j = 0; j < VEC; ++j) sum[m] += get(a.v[j]) * get(b.v[j]);
    }
  }
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
#pragma unroll
    for (int d = 16; d; d >>= 1) sum[m] += __shfl_xor_sync(0xffffffffu, sum[m], d);
  }
  if (lane) return;
  const A add = bias ? get(bias[row]) : A(0);
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
    if (m < rows) y[m * ldy + row] = put(sum[m] + add);
}

// y[i][j] = a[i] b[j]: a thread keeps its piece of b and writes every gridDim.y-th row. `wide`: packs of y and b are aligned.
__device__ inline void outer_of(const T* a, long long step_a, const T* b, long long step_b, T* y, long long ld,
    long long rows, int cols, int wide) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * VEC, left = cols - first;
  if (left <= 0) return;
  A own[VEC];
#pragma unroll
  for (int j = 0; j < VEC; ++j) own[j] = j < left ? get(b[(first + j) * step_b]) : A(0);
  const bool whole = wide && left >= VEC;
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const A factor = get(a[row * step_a]);
    A v[VEC];
#pragma unroll
    for (int j = 0; j < VEC; ++j) v[j] = factor * own[j];
    store(y + row * ld + first, rounded(v), left, whole);
  }
}

extern "C" __global__ void __launch_bounds__(256) outer_product(const T* a, long long step_a, const T* b,
    long long step_b, T* y, long long ld, long long rows, int cols, int wide) {
  wait_for_inputs();
  outer_of(a, step_a, b, step_b, y, ld, rows, cols, wide);
}

#define COLUMNS(name, mode)                                                                                           \
  extern "C" __global__ void __launch_bounds__(256, 4)                                                                \
      name(const T* dy, long long ld_dy, const T* kept, long long ld_kept, T* dz, long long ld_dz, T* db, A* partial, \
          unsigned* counters, long long rows, int cols, int wide) {                                                   \
    wait_for_inputs();                                                                                                \
    columns<mode>(dy, ld_dy, kept, ld_kept, dz, ld_dz, db, partial, counters, rows, cols, wide);                      \
  }
COLUMNS(columns_sum, SUM)
COLUMNS(columns_relu, RELU)
COLUMNS(columns_gelu, GELU)
COLUMNS(columns_gelu_tanh, GELU_TANH)

#define ACTIVATE(name, mode)                                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                                \
      name(const T* z, long long ld_z, T* y, long long ld_y, long long rows, int cols, int wide) { \
    wait_for_inputs();                                                                             \
    activate<mode>(z, ld_z, y, ld_y, rows, cols, wide);                                            \
  }
ACTIVATE(activate_relu, RELU)
ACTIVATE(activate_gelu, GELU)
ACTIVATE(activate_gelu_tanh, GELU_TANH)

#define FEW_ROWS(count)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) few_rows_##count(const T* x, long long ldx, const T* w, \
      long long ldw, const T* bias, T* y, long long ldy, int rows, int n, int k) {                          \
    wait_for_inputs();                                                                                      \
    few_rows<count>(x, ldx, w, ldw, bias, y, ldy, rows, n, k);                                              \
  }
FEW_ROWS(1)
FEW_ROWS(2)
