#pragma once
// Products with at most 16 rows: each reads its weight once and adds in float32
// (float64) in a fixed order. 16-bit floats go through the tensor cores (compute capability 8.0 and later), the others
// through fused multiplications. Contiguous dimensions are multiples of 16 bytes and all is aligned to that.
// The tensor cores' m16n8k16. Lane 4 g + t holds: of A rows g and g + 8, of B column g, of D rows g and g + 8 and columns
// 2 t and 2 t + 1. The order of the dimension that is summed over is free, so each lane takes neighbours from memory.
#include "cuda/kernels/gemm_types.cuh"

#if TYPE == 1 || TYPE == 2
union Words {
  Pack p;
  unsigned u[4];
};

#if TYPE == 1
__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#else
__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

// Zeros where not `in`, but what p points to is there either way: a load under no condition can be moved ahead.
__device__ inline Words fetch(const T* p, bool in) {
  Words r;
  const uint4 v = *reinterpret_cast<const uint4*>(p);
  r.u[0] = in ? v.x : 0;
  r.u[1] = in ? v.y : 0;
  r.u[2] = in ? v.z : 0;
  r.u[3] = in ? v.w : 0;
  return r;
}

template <int HALVES> struct Stage {
  enum { SIZE = GROUPS * HALVES * 8 * 68 };
};

__device__ inline unsigned pair(T low, T high) { return unsigned(low) | unsigned(high) << 16; }

// y = x w^T + bias. A block takes TILES * 16 features, its warps share K; HALVES * 8 rows of x.
template <int TILES, int HALVES>
__device__ inline void skinny_forward(
    const T* x, long long ldx, const T* w, long long ldw, const T* bias, T* y, long long ldy, int rows, int n, int k) {
  enum { VALUES = TILES * HALVES * 4, BATCH = 4, STEP = GROUPS * 32 };
  __shared__ float part[GROUPS][VALUES][LANES];
  const int lane = threadIdx.x, warp = threadIdx.y, g = lane >> 2, t = lane & 3, first = blockIdx.x * TILES * 16;
  float sum[TILES][HALVES][4];
  const T *from_w[TILES][2], *from_x[HALVES];
#pragma unroll
  for (int f = 0; f < TILES; ++f) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {  // rows that are not there are read elsewhere and not written
      const int row = first + f * 16 + h * 8 + g;
      from_w[f][h] = w + (row < n ? row : n - 1) * ldw + 8 * t;
    }
#pragma unroll
    for (int h = 0; h < HALVES; ++h)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[f][h][i] = 0.f;
  }
#pragma unroll
  for (int h = 0; h < HALVES; ++h) from_x[h] = x + (h * 8 + g < rows ? h * 8 + g : 0) * ldx + 8 * t;
  for (int at = warp * 32; at < k; at += BATCH * STEP) {
    Words a[BATCH][TILES][2], b[BATCH][HALVES];
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
      const bool in = at + q * STEP + 8 * t < k;
      const int from = in ? at + q * STEP : 0;
#pragma unroll
      for (int f = 0; f < TILES; ++f)
#pragma unroll
        for (int h = 0; h < 2; ++h) a[q][f][h] = fetch(from_w[f][h] + from, in);
#pragma unroll
      for (int h = 0; h < HALVES; ++h) b[q][h] = fetch(from_x[h] + from, in);
    }
#pragma unroll
    for (int q = 0; q < BATCH; ++q)
#pragma unroll
      for (int s = 0; s < 4; s += 2)
#pragma unroll
        for (int f = 0; f < TILES; ++f) {
          const unsigned both[4] = {a[q][f][0].u[s], a[q][f][1].u[s], a[q][f][0].u[s + 1], a[q][f][1].u[s + 1]};
#pragma unroll
          for (int h = 0; h < HALVES; ++h) mma(sum[f][h], both, b[q][h].u[s], b[q][h].u[s + 1]);
        }
  }
#pragma unroll
  for (int f = 0; f < TILES; ++f)
#pragma unroll
    for (int h = 0; h < HALVES; ++h)
#pragma unroll
      for (int i = 0; i < 4; ++i) part[warp][(f * HALVES + h) * 4 + i][lane] = sum[f][h][i];
  __syncthreads();
  for (int value = warp; value < VALUES; value += GROUPS) {
    float total = 0.f;
#pragma unroll
    for (int q = 0; q < GROUPS; ++q) total += part[q][value][lane];
    const int i = value & 3, h = (value >> 2) % HALVES, f = (value >> 2) / HALVES;
    const int feature = first + f * 16 + (i >> 1) * 8 + g, row = h * 8 + 2 * t + (i & 1);
    if (row < rows && feature < n) y[row * ldy + feature] = put(total + (bias ? get(bias[feature]) : 0.f));
  }
}

// dx = dy w. A block takes 64 columns and a share of the rows of w, which its warps share.
template <int HALVES>
__device__ inline void skinny_input(const T* dy, long long ld_dy, const T* w, long long ldw, T* dx, long long ld_dx,
    Wide* partial, unsigned* counters, int rows, int n, int k, int tile, int share, int shares, A* memory) {
  enum { BATCH = 2, STEP = GROUPS * 16, PITCH = 68 };
  float(*part)[HALVES * 8][PITCH] = reinterpret_cast<float(*)[HALVES * 8][PITCH]>(memory);
  const int lane = threadIdx.x, warp = threadIdx.y, g = lane >> 2, t = lane & 3, column = tile * 64 + 8 * g;
  const int per = ((n + 15) / 16 + shares - 1) / shares * 16, begin = share * per,
            end = begin + per < n ? begin + per : n;
  float sum[8][4];
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[j][i] = 0.f;
  const T* from_w = w + (column < k ? column : k - 8);
  const T* from_low = dy + (g < rows ? g : 0) * ld_dy;
  const T* from_high = dy + (g + 8 < rows ? g + 8 : 0) * ld_dy;
  for (int at = begin + warp * 16 + 4 * t; at - 4 * t < end; at += BATCH * STEP) {
    Words b[BATCH][4];
    unsigned a[BATCH][4];
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
      const bool in = at + q * STEP < end;
      const int row = in ? at + q * STEP : 0;  // four rows: n is a multiple of 4
#pragma unroll
      for (int i = 0; i < 4; ++i) b[q][i] = fetch(from_w + (row + i) * ldw, in);
      const uint2 low = *reinterpret_cast<const uint2*>(from_low + row);
      const uint2 high = HALVES == 2 ? *reinterpret_cast<const uint2*>(from_high + row) : uint2{0, 0};
      a[q][0] = in ? low.x : 0;
      a[q][1] = in ? high.x : 0;
      a[q][2] = in ? low.y : 0;
      a[q][3] = in ? high.y : 0;
    }
#pragma unroll
    for (int q = 0; q < BATCH; ++q)
#pragma unroll
      for (int j = 0; j < 8; ++j)
        mma(sum[j], a[q], pair(b[q][0].p.v[j], b[q][1].p.v[j]), pair(b[q][2].p.v[j], b[q][3].p.v[j]));
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {  // lane 4 g + t has columns 16 t ... 16 t + 15 of rows g and g + 8
    part[warp][g][16 * t + j] = sum[j][0];
    part[warp][g][16 * t + 8 + j] = sum[j][1];
    if (HALVES == 2) {
      part[warp][(HALVES - 1) * 8 + g][16 * t + j] = sum[j][2];
      part[warp][(HALVES - 1) * 8 + g][16 * t + 8 + j] = sum[j][3];
    }
  }
  __syncthreads();
  const int flat = warp * LANES + lane, row = flat >> 4, at = (flat & 15) * 4;
  const bool mine = row < HALVES * 8;
  float total[1][4] = {{0.f, 0.f, 0.f, 0.f}};
  if (mine)
#pragma unroll
    for (int q = 0; q < GROUPS; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i) total[0][i] += part[q][row][at + i];
  if (!add_shares<1>(total, partial + (long long)tile * shares * (GROUPS * LANES), counters + tile, share, shares))
    return;
  if (!mine || row >= rows || tile * 64 + at >= k) return;
  const uint2 both = {pair(put(total[0][0]), put(total[0][1])), pair(put(total[0][2]), put(total[0][3]))};
  *reinterpret_cast<uint2*>(dx + row * ld_dx + tile * 64 + at) = both;
}

// dw = dy^T x, and what is there already if `add`, for 64 columns, and rows begin ... end of dw, 16 a warp and step.
template <int HALVES>
__device__ inline void skinny_weight(const T* dy, long long ld_dy, const T* x, long long ldx, T* dw, long long ld_dw,
    int rows, int k, int tile, int begin, int end, int add, A*) {
  const int lane = threadIdx.x, warp = threadIdx.y, g = lane >> 2, t = lane & 3;
  unsigned b[2][4][2];
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = tile * 64 + half * 32 + 8 * (g >> 1) + 2 * j + (g & 1);
      T v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = 2 * t + (i & 1) + (i >> 1) * 8;
        v[i] = (i < 2 || HALVES == 2) && row < rows && column < k ? x[row * ldx + column] : T(0);
      }
      b[half][j][0] = pair(v[0], v[1]);
      b[half][j][1] = pair(v[2], v[3]);
    }
  for (int at = begin + warp * 16; at < end; at += GROUPS * 16) {
    T v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int row = 2 * t + (i & 1) + (i >> 2) * 8, feature = at + g + ((i >> 1) & 1) * 8;
      v[i] = (i < 4 || HALVES == 2) && row < rows && feature < end ? dy[row * ld_dy + feature] : T(0);
    }
    const unsigned a[4] = {pair(v[0], v[1]), pair(v[2], v[3]), pair(v[4], v[5]), pair(v[6], v[7])};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = tile * 64 + half * 32 + 8 * t;
      const bool upper = column < k && at + g < end, lower = column < k && at + g + 8 < end;
      T* const to = dw + (at + g) * ld_dw + column;
      Words low = {}, high = {};
      if (add && upper) low.p = *reinterpret_cast<const Pack*>(to);
      if (add && lower) high.p = *reinterpret_cast<const Pack*>(to + 8 * ld_dw);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float d[4] = {get(T(low.u[j])), get(T(low.u[j] >> 16)), get(T(high.u[j])), get(T(high.u[j] >> 16))};
        mma(d, a, b[half][j][0], b[half][j][1]);
        low.u[j] = pair(put(d[0]), put(d[1]));
        high.u[j] = pair(put(d[2]), put(d[3]));
      }
      if (upper) *reinterpret_cast<Pack*>(to) = low.p;
      if (lower) *reinterpret_cast<Pack*>(to + 8 * ld_dw) = high.p;
    }
  }
}
#endif
