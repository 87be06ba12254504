#pragma once
// Attention whose scores never reach memory, on the matrix units, compiled by NVRTC with macros:
//   ELEMENT Half or Bf16, D the size of a head (a multiple of 16), TILES of 16 queries a warp, CAUSAL, MASK 0 none, 1 truth values,
//   2 numbers of ELEMENT that are added; DROPS 1 where weights are dropped; SPLIT 1 where parts of the keys are blocks of their own, whose
//   results attention_join.cuh joins.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
#define KEYS 64
#define WARPS 4
#define QUERIES (WARPS * 16 * TILES)
#ifndef SPLIT
#define SPLIT 0
#endif
#define LINE (D + 8)  // of shared memory: rows of 16 bytes fall into different banks
struct Strides {
  i64 batch, head, row;
};
struct MaskStrides {
  i64 batch, head, row, col;
};

__device__ inline u32 address(const T* p) { return u32(__cvta_generic_to_shared(p)); }
__device__ inline void fetch(T* to, const T* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from), "r"(there ? 16 : 0)
      : "memory");
}
__device__ inline void fetched() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending> __device__ inline void arrived() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
  __syncthreads();
}
// `count` rows of D from `row` on; those past `rows` are zeros.
__device__ inline void fetch_rows(T* to, const T* from, i64 stride, int row, int count, int rows) {
  constexpr int kParts = D / 8;
  for (int k = threadIdx.x; k < count * kParts; k += WARPS * 32) {
    const int r = k / kParts, c = (k - r * kParts) * 8;
    const bool there = row + r < rows;
    fetch(to + r * LINE + c, from + (there ? i64(row + r) * stride : 0) + c, there);
  }
}
__device__ inline void load4(u32 (&r)[4], const T* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address(p)));
}
__device__ inline void load4_turned(u32 (&r)[4], const T* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address(p)));
}
__device__ inline void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (same_type<T, Half>::value)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline u32 packed(float low, float high) {
  u32 r;
  if constexpr (same_type<T, Half>::value)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// Which weights are kept: 16 bits each of the numbers of the generator's stream from block `start` on, four words of it for each lane of a warp that
// holds 16 queries and 16 keys as matrix products leave them: word (row / 8 % 2) * 2 + col / 8 % 2 of lane row % 8 * 4 + col % 8 / 2, the half col % 2.
struct Drops {
  u64 seed, start;
  u32 least;
  float rest;
};  // a weight is kept, and multiplied by `rest`, where its bits are `least` at least
__device__ inline void draw_block(u32 (&c)[4], const Drops& drops, i64 line, int rows, int cols, int row, int col) {
  const u64 counter =
      drops.start + ((u64(line) * u64((rows + 15) / 16) + u64(row / 16)) * u64((cols + 15) / 16) + u64(col / 16)) * 32 +
      threadIdx.x % 32;
  c[0] = u32(counter);
  c[1] = u32(counter >> 32);
  c[2] = 0;
  c[3] = 0;
  u32 k0 = u32(drops.seed), k1 = u32(drops.seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 a = u64(0xD2511F53u) * c[0], b = u64(0xCD9E8D57u) * c[2];
    c[0] = u32(b >> 32) ^ c[1] ^ k0;
    c[1] = u32(b);
    c[2] = u32(a >> 32) ^ c[3] ^ k1;
    c[3] = u32(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
__device__ inline bool is_kept(const Drops& drops, u32 word, int half) {
  return (half ? word >> 16 : word & 0xffffu) >= drops.least;
}

// out = softmax(scale * q k' + mask) v and the scores' logsumexp; a block QUERIES queries of one head, which a group of heads of k and v share.
// With SPLIT a block has all queries and `each` of the keys, a multiple of KEYS; then out and lse are (blocks, lines, rows) and out is float32.
extern "C" __global__ void __launch_bounds__(WARPS * 32) attention(const T* q, const T* k, const T* v, const void* mask,
    T* out, float* lse, Strides sq, Strides sk, Strides sv, Strides so, MaskStrides sm, int heads, int group, int rows,
    int cols, int each, float scale, Drops drops) {
  __shared__ alignas(16) T tiles[2 * KEYS * LINE];
  T *const ks = tiles, *const vs = tiles + KEYS * LINE;
  const float kLog2 = 1.44269504088896340736f, low = -__int_as_float(0x7f800000);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, batch = blockIdx.y / heads, head = blockIdx.y % heads;
  const int first = SPLIT ? 0 : int(CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * QUERIES,
            own = first + warp * 16 * TILES;
  q += batch * sq.batch + head * sq.head;
  k += batch * sk.batch + head / group * sk.head;
  v += batch * sv.batch + head / group * sv.head;
  u32 queries[TILES][D / 16][4];
  fetch_rows(tiles, q, sq.row, first, QUERIES, rows);
  fetched();
  arrived<0>();
#pragma unroll
  for (int t = 0; t < TILES; ++t)
#pragma unroll
    for (int d = 0; d < D / 16; ++d)
      load4(queries[t][d], tiles + ((warp * TILES + t) * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
  __syncthreads();
  float sums[TILES][D / 8][4] = {}, most[TILES][2], total[TILES][2] = {};
#pragma unroll
  for (int t = 0; t < TILES; ++t) most[t][0] = most[t][1] = low;
  const int start = SPLIT ? blockIdx.x * each : 0, end = SPLIT    ? min(cols, start + each)
                                                         : CAUSAL ? min(cols, first + QUERIES)
                                                                  : cols;
  fetch_rows(ks, k, sk.row, start, KEYS, cols);
  fetched();
  for (int at = start; at < end; at += KEYS) {
    fetch_rows(vs, v, sv.row, at, KEYS, cols);
    fetched();
    arrived<1>();
    float scores[TILES][KEYS / 8][4] = {};
#pragma unroll
    for (int d = 0; d < D / 16; ++d)
#pragma unroll
      for (int n = 0; n < KEYS / 16; ++n) {
        u32 b[4];
        load4(b, ks + (n * 16 + lane % 8 + lane / 16 * 8) * LINE + d * 16 + lane / 8 % 2 * 8);
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
          multiply(scores[t][2 * n], queries[t][d], b[0], b[1]);
          multiply(scores[t][2 * n + 1], queries[t][d], b[2], b[3]);
        }
      }
    __syncthreads();
    if (at + KEYS < end) fetch_rows(ks, k, sk.row, at + KEYS, KEYS, cols);
    fetched();
    const bool edge = at + KEYS > cols || (CAUSAL && at + KEYS > own);
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = own + t * 16 + half * 8 + lane / 4;
        float top = low;
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& s = scores[t][n][2 * half + e];
            const int col = at + n * 8 + lane % 4 * 2 + e;
            s *= scale * kLog2;
            if (MASK && col < cols && row < rows) {
              const i64 place = batch * sm.batch + head * sm.head + row * sm.row + col * sm.col;
              if (MASK == 1) {
                if (!static_cast<const u8*>(mask)[place]) s = low;
              } else
                s += widen(static_cast<const T*>(mask)[place]) * kLog2;
            }
            if (edge && (col >= cols || (CAUSAL && col > row))) s = low;
            top = fmaxf(top, s);
          }
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        top = fmaxf(top, most[t][half]);
        const float base = top == low ? 0.0f : top, rest = exp2f(most[t][half] - base);
        most[t][half] = top;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& s = scores[t][n][2 * half + e];
            s = exp2f(s - base);
            sum += s;
          }
        total[t][half] = total[t][half] * rest + sum;
#pragma unroll
        for (int d = 0; d < D / 8; ++d) {
          sums[t][d][2 * half] *= rest;
          sums[t][d][2 * half + 1] *= rest;
        }
      }
    }
    arrived<1>();
#pragma unroll
    for (int n = 0; n < KEYS / 16; ++n) {
      u32 weights[TILES][4];
#pragma unroll
      for (int t = 0; t < TILES; ++t) {
        u32 bits[4];
        if (DROPS) draw_block(bits, drops, blockIdx.y, rows, cols, own + t * 16, at + n * 16);
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          float* s = scores[t][2 * n + part / 2] + part % 2 * 2;
          if (DROPS) {
            const u32 word = bits[part % 2 * 2 + part / 2];
            s[0] = is_kept(drops, word, 0) ? s[0] : 0.0f;
            s[1] = is_kept(drops, word, 1) ? s[1] : 0.0f;
          }
          weights[t][part] = packed(s[0], s[1]);
        }
      }
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        u32 b[4];
        load4_turned(b, vs + (n * 16 + lane % 16) * LINE + d * 16 + lane / 16 * 8);
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
          multiply(sums[t][2 * d], weights[t], b[0], b[1]);
          multiply(sums[t][2 * d + 1], weights[t], b[2], b[3]);
        }
      }
    }
    __syncthreads();
  }
  arrived<0>();
#pragma unroll
  for (int t = 0; t < TILES; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[t][half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const int row = own + t * 16 + half * 8 + lane / 4;
      if (row >= rows) continue;
      const float share = sum == 0.0f ? 0.0f : (DROPS ? drops.rest : 1.0f) / sum;  // of nothing that is seen: zeros
      const i64 place = ((SPLIT ? i64(blockIdx.x) * gridDim.y : i64(0)) + blockIdx.y) * rows + row;
      if (SPLIT) {
        float2* to = reinterpret_cast<float2*>(reinterpret_cast<float*>(out) + place * D);
#pragma unroll
        for (int d = 0; d < D / 8; ++d)
          to[d * 4 + lane % 4] = make_float2(sums[t][d][2 * half] * share, sums[t][d][2 * half + 1] * share);
      } else {
        u32* to = reinterpret_cast<u32*>(out + batch * so.batch + head * so.head + row * so.row);
#pragma unroll
        for (int d = 0; d < D / 8; ++d)
          to[d * 4 + lane % 4] = packed(sums[t][d][2 * half] * share, sums[t][d][2 * half + 1] * share);
      }
      if (lane % 4 == 0) lse[place] = sum == 0.0f ? low : (most[t][half] + log2f(sum)) * 0.69314718055994530942f;
    }
}
