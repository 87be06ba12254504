#pragma once
// Attention's gradients, compiled by NVRTC with the same macros: the weights are made
// again from the scores and their logsumexp, once for the queries and once for keys and values, so that nothing is added in a race.
#include "cuda/kernels/attention.cuh"

#define SPAN (D <= 64 ? 64 : 32)  // queries that a block of keys looks at together

// inner[row] = sum over D of g * out. A warp a row; the grid's y counts batches and heads.
extern "C" __global__ void __launch_bounds__(128)
    attention_inner(const T* g, const T* out, float* inner, Strides sg, Strides so, int heads, int rows) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32, batch = blockIdx.y / heads,
            head = blockIdx.y % heads;
  if (row >= rows) return;
  const T *a = g + batch * sg.batch + head * sg.head + row * sg.row,
          *b = out + batch * so.batch + head * so.head + row * so.row;
  float sum = 0;
  for (int d = lane; d < D; d += 32) sum += widen(a[d]) * widen(b[d]);
#pragma unroll
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) inner[i64(blockIdx.y) * rows + row] = sum;
}

// The score of a query and a key in powers of two, and -infinity where the one does not see the other.
__device__ inline float seen(float s, const void* mask, const MaskStrides& sm, int batch, int head, int row, int col,
    int rows, int cols, float scale) {
  const float low = -__int_as_float(0x7f800000);
  if (col >= cols || row >= rows || (CAUSAL && col > row)) return low;
  s *= scale * 1.44269504088896340736f;
  if (MASK) {
    const i64 place = batch * sm.batch + head * sm.head + row * sm.row + col * sm.col;
    if (MASK == 1) return static_cast<const u8*>(mask)[place] ? s : low;
    s += widen(static_cast<const T*>(mask)[place]) * 1.44269504088896340736f;
  }
  return s;
}
// What is taken off scores in powers of two: of a query that sees nothing, everything.
__device__ inline float level(const float* lse, int row, int rows) {
  const float of = row < rows ? lse[row] : -__int_as_float(0x7f800000);
  return of == -__int_as_float(0x7f800000) ? __int_as_float(0x7f800000) : of * 1.44269504088896340736f;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) attention_queries(const T* q, const T* k, const T* v,
    const void* mask, const T* g, const float* lse, const float* inner, T* dq, Strides sq, Strides sk, Strides sv,
    Strides sg, Strides sd, MaskStrides sm, int heads, int group, int rows, int cols, float scale, Drops drops) {
  __shared__ alignas(16) T tiles[2 * KEYS * LINE];
  T *const ks = tiles, *const vs = tiles + KEYS * LINE;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, batch = blockIdx.y / heads, head = blockIdx.y % heads;
  const int first = int(CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * 64, own = first + warp * 16;
  q += batch * sq.batch + head * sq.head;
  g += batch * sg.batch + head * sg.head;
  k += batch * sk.batch + head / group * sk.head;
  v += batch * sv.batch + head / group * sv.head;
  lse += i64(blockIdx.y) * rows;
  inner += i64(blockIdx.y) * rows;
  u32 queries[D / 16][4], slopes[D / 16][4];
  fetch_rows(ks, q, sq.row, first, 64, rows);
  fetch_rows(vs, g, sg.row, first, 64, rows);
  fetched();
  arrived<0>();
#pragma unroll
  for (int d = 0; d < D / 16; ++d) {
    load4(queries[d], ks + (warp * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
    load4(slopes[d], vs + (warp * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
  }
  float levels[2], inners[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = own + half * 8 + lane / 4;
    levels[half] = level(lse, row, rows);
    inners[half] = row < rows ? inner[row] : 0.0f;
  }
  float sums[D / 8][4] = {};
  const int end = CAUSAL ? min(cols, first + 64) : cols;
  for (int at = 0; at < end; at += KEYS) {
    __syncthreads();
    fetch_rows(ks, k, sk.row, at, KEYS, cols);
    fetch_rows(vs, v, sv.row, at, KEYS, cols);
    fetched();
    arrived<0>();
#pragma unroll
    for (int n = 0; n < KEYS / 16; ++n) {
      float scores[2][4] = {}, backs[2][4] = {};
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        u32 b[4];
        load4(b, ks + (n * 16 + lane % 8 + lane / 16 * 8) * LINE + d * 16 + lane / 8 % 2 * 8);
        multiply(scores[0], queries[d], b[0], b[1]);
        multiply(scores[1], queries[d], b[2], b[3]);
        load4(b, vs + (n * 16 + lane % 8 + lane / 16 * 8) * LINE + d * 16 + lane / 8 % 2 * 8);
        multiply(backs[0], slopes[d], b[0], b[1]);
        multiply(backs[1], slopes[d], b[2], b[3]);
      }
      u32 weights[4], bits[4];
      if (DROPS) draw_block(bits, drops, blockIdx.y, rows, cols, own, at + n * 16);
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        float pair[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int half = part % 2, row = own + half * 8 + lane / 4,
                    col = at + n * 16 + part / 2 * 8 + lane % 4 * 2 + e;
          const float p = exp2f(
              seen(scores[part / 2][2 * half + e], mask, sm, batch, head, row, col, rows, cols, scale) - levels[half]);
          float back = backs[part / 2][2 * half + e];
          if (DROPS) back = is_kept(drops, bits[half * 2 + part / 2], e) ? back * drops.rest : 0.0f;
          pair[e] = p * (back - inners[half]);
        }
        weights[part] = packed(pair[0], pair[1]);
      }
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        u32 b[4];
        load4_turned(b, ks + (n * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
        multiply(sums[2 * d], weights, b[0], b[1]);
        multiply(sums[2 * d + 1], weights, b[2], b[3]);
      }
    }
  }
  dq += batch * sd.batch + head * sd.head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = own + half * 8 + lane / 4;
    if (row >= rows) continue;
    u32* to = reinterpret_cast<u32*>(dq + row * sd.row);
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
      to[d * 4 + lane % 4] = packed(sums[d][2 * half] * scale, sums[d][2 * half + 1] * scale);
  }
}

// A block 64 keys of one head of queries; dk and dv have as many heads as the queries.
extern "C" __global__ void __launch_bounds__(WARPS * 32)
    attention_keys(const T* q, const T* k, const T* v, const void* mask, const T* g, const float* lse,
        const float* inner, T* dk, T* dv, Strides sq, Strides sk, Strides sv, Strides sg, Strides sd, MaskStrides sm,
        int heads, int group, int rows, int cols, float scale, Drops drops) {
  __shared__ alignas(16) T tiles[2 * 64 * LINE];
  __shared__ float levels[SPAN], inners[SPAN];
  T *const qs = tiles, *const gs = tiles + 64 * LINE;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, batch = blockIdx.y / heads, head = blockIdx.y % heads,
            first = blockIdx.x * 64, own = first + warp * 16;
  q += batch * sq.batch + head * sq.head;
  g += batch * sg.batch + head * sg.head;
  k += batch * sk.batch + head / group * sk.head;
  v += batch * sv.batch + head / group * sv.head;
  lse += i64(blockIdx.y) * rows;
  inner += i64(blockIdx.y) * rows;
  u32 keys[D / 16][4], values[D / 16][4];
  fetch_rows(qs, k, sk.row, first, 64, cols);
  fetch_rows(gs, v, sv.row, first, 64, cols);
  fetched();
  arrived<0>();
#pragma unroll
  for (int d = 0; d < D / 16; ++d) {
    load4(keys[d], qs + (warp * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
    load4(values[d], gs + (warp * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
  }
  float key_sums[D / 8][4] = {}, value_sums[D / 8][4] = {};
  for (int at = CAUSAL ? first / SPAN * SPAN : 0; at < rows; at += SPAN) {
    __syncthreads();
    fetch_rows(qs, q, sq.row, at, SPAN, rows);
    fetch_rows(gs, g, sg.row, at, SPAN, rows);
    fetched();
    if (threadIdx.x < SPAN) {
      levels[threadIdx.x] = level(lse, at + threadIdx.x, rows);
      inners[threadIdx.x] = at + int(threadIdx.x) < rows ? inner[at + threadIdx.x] : 0.0f;
    }
    arrived<0>();
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) {  // keys along the rows of the tiles, queries along their columns
      float scores[2][4] = {}, backs[2][4] = {};
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        u32 b[4];
        load4(b, qs + (n * 16 + lane % 8 + lane / 16 * 8) * LINE + d * 16 + lane / 8 % 2 * 8);
        multiply(scores[0], keys[d], b[0], b[1]);
        multiply(scores[1], keys[d], b[2], b[3]);
        load4(b, gs + (n * 16 + lane % 8 + lane / 16 * 8) * LINE + d * 16 + lane / 8 % 2 * 8);
        multiply(backs[0], values[d], b[0], b[1]);
        multiply(backs[1], values[d], b[2], b[3]);
      }
      u32 weights[4], slopes[4], bits[2][4];
      if (DROPS) {  // the lanes that hold these queries and keys where queries go along the rows
        u32 drawn[4];
        draw_block(drawn, drops, blockIdx.y, rows, cols, at + n * 16, own);
#pragma unroll
        for (int e = 0; e < 2; ++e)
#pragma unroll
          for (int w = 0; w < 4; ++w)
            bits[e][w] = __shfl_sync(0xffffffffu, drawn[w], (lane % 4 * 2 + e) * 4 + lane / 8);
      }
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        float p[2], s[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int half = part % 2, spot = n * 16 + part / 2 * 8 + lane % 4 * 2 + e, col = own + half * 8 + lane / 4;
          p[e] = exp2f(seen(scores[part / 2][2 * half + e], mask, sm, batch, head, at + spot, col, rows, cols, scale) -
                       levels[spot]);
          float back = backs[part / 2][2 * half + e];
          const bool keep = !DROPS || is_kept(drops, bits[e][part / 2 * 2 + half], lane / 4 % 2);
          if (DROPS) back = keep ? back * drops.rest : 0.0f;
          s[e] = p[e] * (back - inners[spot]);
          if (DROPS) p[e] = keep ? p[e] * drops.rest : 0.0f;
        }
        weights[part] = packed(p[0], p[1]);
        slopes[part] = packed(s[0], s[1]);
      }
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        u32 b[4];
        load4_turned(b, gs + (n * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
        multiply(value_sums[2 * d], weights, b[0], b[1]);
        multiply(value_sums[2 * d + 1], weights, b[2], b[3]);
        load4_turned(b, qs + (n * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
        multiply(key_sums[2 * d], slopes, b[0], b[1]);
        multiply(key_sums[2 * d + 1], slopes, b[2], b[3]);
      }
    }
  }
  dk += batch * sd.batch + head * sd.head;
  dv += batch * sd.batch + head * sd.head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int col = own + half * 8 + lane / 4;
    if (col >= cols) continue;
    u32 *to = reinterpret_cast<u32*>(dk + col * sd.row), *other = reinterpret_cast<u32*>(dv + col * sd.row);
#pragma unroll
    for (int d = 0; d < D / 8; ++d) {
      to[d * 4 + lane % 4] = packed(key_sums[d][2 * half] * scale, key_sums[d][2 * half + 1] * scale);
      other[d * 4 + lane % 4] = packed(value_sums[d][2 * half], value_sums[d][2 * half + 1]);
    }
  }
}
