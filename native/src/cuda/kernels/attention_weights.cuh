#pragma once
// What both of Hopper's kernels do with scores, for heads of 64 or 128 numbers: weights, their sums, and what is written.
#include "cuda/kernels/hopper.cuh"

#if D == 64 || D == 128
#ifndef SPAN
#define SPAN D  // keys at a time
#endif
struct Place {
  const void* mask;
  i64 mask_row, mask_col;
  int row, rows, cols;
  float factor;
};
// What a mask adds to a thread's scores, where two neighbours are one load: asked for before the scores are there, for it comes from far.
#define HELD (MASK && PAIRS)
struct Masked {
  u32 words[HELD ? 2 : 1][HELD ? SPAN / 8 : 1];
};
__device__ inline void look_at_mask(Masked& m, const Place& p, int at) {
#if HELD
  using Pair = pick<MASK == 1, u16, u32>::type;
  const int left = p.cols - at - threadIdx.x % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = p.row + half * 8;
    const Pair* from = reinterpret_cast<const Pair*>(
                           static_cast<const char*>(p.mask) + (row * p.mask_row + at) * i64(sizeof(Pair) / 2)) +
                       threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < SPAN / 8; ++n) m.words[half][n] = row < p.rows && n * 8 < left ? __ldg(from + n * 4) : 0;
  }
#endif
}
// Scores of 64 x SPAN become weights, with what each row's are counted from: the greatest so far, or a little less, for then what sums were
// stays as it is. Otherwise it must be multiplied by `rest`.
// `edge`: some of them are past the last key or, with CAUSAL, past their query.
template <bool edge>
__device__ inline void weigh(float (&s)[SPAN / 2], const Masked& m, const Place& p, int at, float (&most)[2],
    float (&total)[2], float (&rest)[2]) {
  constexpr float kRise = 8;  // weights up to 2^8, which both types of 16 bits hold as precisely
  const float low = -__int_as_float(0x7f800000), kLog2 = 1.44269504088896340736f;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = p.row + half * 8;
    float top = low;
#pragma unroll
    for (int n = 0; n < SPAN / 8; ++n) {
      const int col = at + n * 8 + lane % 4 * 2;
      float* const x = s + 4 * n + 2 * half;
#if HELD
      const u32 word = m.words[half][n];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (MASK == 1)
          x[e] = u8(word >> 8 * e) ? x[e] * p.factor : low;
        else
          x[e] = x[e] * p.factor + widen(T{u16(word >> 16 * e)}) * kLog2;
      }
#elif MASK
      if (row < p.rows)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (col + e >= p.cols) continue;
          const i64 place = row * p.mask_row + (col + e) * p.mask_col;
          x[e] *= p.factor;
          if (MASK == 1)
            x[e] = static_cast<const u8*>(p.mask)[place] ? x[e] : low;
          else
            x[e] += widen(static_cast<const T*>(p.mask)[place]) * kLog2;
        }
#endif
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (edge && (col + e >= p.cols || (CAUSAL && col + e > row))) x[e] = low;
        top = fmaxf(top, x[e]);
      }
    }
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    if (!MASK) top *= p.factor;
    top = fmaxf(top, most[half]);
    if (top - most[half] <= kRise) top = most[half];
    const float base = top == low ? 0.0f : top, factor = MASK ? 1.0f : p.factor;
    rest[half] = power(most[half] - base);
    most[half] = top;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < SPAN / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& x = s[4 * n + 2 * half + e];
        x = power(x * factor - base);
        sum += x;
      }
    total[half] = total[half] * rest[half] + sum;
  }
}
__device__ inline void weigh(float (&s)[SPAN / 2], const Masked& m, const Place& p, int at, bool edge, float (&most)[2],
    float (&total)[2], float (&rest)[2]) {
  if (edge)  // a way of its own: comparing each place costs a third of the loop
    weigh<true>(s, m, p, at, most, total, rest);
  else
    weigh<false>(s, m, p, at, most, total, rest);
}
__device__ inline void pack_weights(const float (&s)[SPAN / 2], u32 (&w)[SPAN / 16][4], const Drops& drops, i64 line,
    int rows, int cols, int row, int at) {
#pragma unroll
  for (int n = 0; n < SPAN / 16; ++n) {
    u32 bits[4];
    if (DROPS) draw_block(bits, drops, line, rows, cols, row, at + n * 16);
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      float a = s[(2 * n + part / 2) * 4 + part % 2 * 2], b = s[(2 * n + part / 2) * 4 + part % 2 * 2 + 1];
      if (DROPS) {
        const u32 word = bits[part % 2 * 2 + part / 2];
        a = is_kept(drops, word, 0) ? a : 0.0f;
        b = is_kept(drops, word, 1) ? b : 0.0f;
      }
      w[n][part] = packed(a, b);
    }
  }
}
// Of four lanes side by side each has a part of four pieces; afterwards each has a whole piece, the one of its number.
__device__ inline void gather_pieces(u32 (&x)[4]) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int far = 1; far < 4; far *= 2) {
    const bool upper = lane & far;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & far) continue;
      const u32 given = upper ? x[i] : x[i + far], got = __shfl_xor_sync(0xffffffffu, given, far);
      (upper ? x[i] : x[i + far]) = got;
    }
  }
}
// The outputs of the 16 rows of a warp, from `own` on, 16 bytes a thread (8 of float32), and the logarithm of each row's sum.
template <class O>
__device__ inline void write_rows(O* out, float* lse, i64 stride, int own, int rows, const float (&sums)[D / 2],
    const float (&most)[2], const float (&total)[2], const Drops& drops) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = total[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int row = own + half * 8 + lane / 4;
    const float share = sum == 0.0f ? 0.0f : (DROPS ? drops.rest : 1.0f) / sum;
    if constexpr (same_type<O, float>::value) {
      float2* const to = reinterpret_cast<float2*>(out + row * stride) + lane % 4;
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
        if (row < rows) to[d * 4] = make_float2(sums[4 * d + 2 * half] * share, sums[4 * d + 2 * half + 1] * share);
    } else {
      uint4* const to = reinterpret_cast<uint4*>(out + row * stride) + lane % 4;
#pragma unroll
      for (int d = 0; d < D / 8; d += 4) {
        u32 x[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          x[i] = packed(sums[4 * (d + i) + 2 * half] * share, sums[4 * (d + i) + 2 * half + 1] * share);
        gather_pieces(x);
        if (row < rows) to[d] = make_uint4(x[0], x[1], x[2], x[3]);
      }
    }
    if (lane % 4 == 0 && row < rows)
      lse[row] = sum == 0.0f ? -__int_as_float(0x7f800000) : (most[half] + log2f(sum)) * 0.69314718055994530942f;
  }
}
#endif
