#pragma once
// Attention on Hopper's matrix units, for heads of 64 or 128 numbers, with their
// macros and PAIRS 1 where two neighbours of the mask are one load.
#include "cuda/kernels/hopper.cuh"

#if D == 64 || D == 128
#define SPAN 128  // keys at a time
#ifndef QUERY_GROUPS
#define QUERY_GROUPS (D == 64 ? 3 : 2)
#endif
#define FORWARD_THREADS (QUERY_GROUPS * 128 + 128)
struct Place {
  const void* mask;
  i64 mask_row, mask_col;
  int row, rows, cols;
  float factor;
};
// Scores of 64 x SPAN become weights, with the greatest of each row so far; what sums were must be multiplied by `rest`.
__device__ inline void weigh(
    float (&s)[SPAN / 2], const Place& p, int at, bool edge, float (&most)[2], float (&total)[2], float (&rest)[2]) {
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
      if (MASK && row < p.rows && col < p.cols) {
        const i64 place = row * p.mask_row + col * p.mask_col;
        T added[2];
        u8 seen[2];
        if (MASK == 1) {
          const u8* from = static_cast<const u8*>(p.mask) + place;
          if (PAIRS) {
            const u16 both = *reinterpret_cast<const u16*>(from);
            seen[0] = u8(both);
            seen[1] = u8(both >> 8);
          } else {
            seen[0] = from[0];
            seen[1] = col + 1 < p.cols ? from[p.mask_col] : u8(0);
          }
        } else {
          const T* from = static_cast<const T*>(p.mask) + place;
          if (PAIRS) {
            const u32 both = *reinterpret_cast<const u32*>(from);
            added[0].v = u16(both);
            added[1].v = u16(both >> 16);
          } else {
            added[0] = from[0];
            added[1] = col + 1 < p.cols ? from[p.mask_col] : T{0};
          }
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          x[e] *= p.factor;
          if (MASK == 1)
            x[e] = seen[e] ? x[e] : low;
          else
            x[e] += widen(added[e]) * kLog2;
        }
      }
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

// As `attention`, a block QUERY_GROUPS * 64 queries. Four warps bring keys and values, two tiles of each; the others, four
// for 64 queries, multiply. The products of one tile's keys run while the weights of the tile before meet their values, and
// the groups take turns in sending products, so that one computes its weights while another's products run.
extern "C" __global__ void __launch_bounds__(FORWARD_THREADS, 1)
    attention_hopper(const T* q, const T* k, const T* v, const void* mask, T* out, float* lse, Strides sq, Strides sk,
        Strides sv, Strides so, MaskStrides sm, int heads, int group, int rows, int cols, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kTile = SPAN * D * 2, kQueries = QUERY_GROUPS * 64 * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u, ks = base + kQueries, vs = ks + 2 * kTile;
  // Whether a tile is there (its threads' copies ended) and whether it may be written again (all warps have read it).
  const u32 there = vs + 2 * kTile, read = there + 4 * 8;
  const auto of_keys = [](int tile) { return u32(tile % 2) * 8; };
  const auto of_values = [](int tile) { return u32(tile % 2) * 8 + 16; };
  const int batch = blockIdx.y / heads, head = blockIdx.y % heads;
  const int first = int(CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * (QUERY_GROUPS * 64);
  const int end = CAUSAL ? min(cols, first + QUERY_GROUPS * 64) : cols, tiles = (end + SPAN - 1) / SPAN;
  if (threadIdx.x == 0) {
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      barrier_of(there + i * 8, 128);
      barrier_of(read + i * 8, QUERY_GROUPS * 4);
    }
  }
  __syncthreads();
  if (threadIdx.x >= QUERY_GROUPS * 128) {
    registers_given<QUERY_GROUPS == 2 ? 24 : 32>();
    const int thread = int(threadIdx.x) - QUERY_GROUPS * 128;
    q += batch * sq.batch + head * sq.head;
    k += batch * sk.batch + head / group * sk.head;
    v += batch * sv.batch + head / group * sv.head;
    fetch_tile<QUERY_GROUPS * 64, 128>(base, q, sq.row, first, rows, thread);
    for (int j = 0; j < tiles; ++j) {
      const u32 here = u32(j % 2) * kTile, before = u32(j / 2 - 1) & 1;
      if (j > 1) wait_for(read + of_keys(j), before);
      fetch_tile<SPAN, 128>(ks + here, k, sk.row, j * SPAN, cols, thread);
      fetched_tells(there + of_keys(j));
      if (j > 1) wait_for(read + of_values(j), before);
      fetch_tile<SPAN, 128>(vs + here, v, sv.row, j * SPAN, cols, thread);
      fetched_tells(there + of_values(j));
    }
    fetched();
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    return;
  }
  registers_taken<QUERY_GROUPS == 2 ? 240 : 160>();
  const int lane = threadIdx.x % 32, own_group = threadIdx.x / 128, own = first + threadIdx.x / 32 * 16;
  Place p{nullptr, sm.row, sm.col, own + lane / 4, rows, cols, scale * 1.44269504088896340736f};
  if (MASK == 1) p.mask = static_cast<const u8*>(mask) + batch * sm.batch + head * sm.head;
  if (MASK == 2) p.mask = static_cast<const T*>(mask) + batch * sm.batch + head * sm.head;
  const auto edge = [&](int at) { return at + SPAN > cols || (CAUSAL && at + SPAN > own); };
  const u32 mine = base + own_group * (64 * 128);
  const auto tile_there = [&](u32 barrier, int tile) {
    wait_for(there + barrier, u32(tile / 2) & 1);
    seen_by_products();
  };
  const auto was_read = [&](u32 barrier) {
    if (lane == 0) arrive_at(read + barrier);
  };
  const auto score = [&](float(&s)[SPAN / 2], u32 keys) {
    begun();
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
      const u64 a = tile_at(mine + d / 4 * (QUERY_GROUPS * 64 * 128) + d % 4 * 32, 0),
                b = tile_at(keys + d / 4 * (SPAN * 128) + d % 4 * 32, 0);
      if (d == 0)
        first_rows(s, a, b);
      else
        add_rows(s, a, b);
    }
    sent();
  };
  float sums[D / 2], s[SPAN / 2], most[2], total[2] = {}, rest[2];
  u32 weights[SPAN / 16][4];
  most[0] = most[1] = -__int_as_float(0x7f800000);
#pragma unroll
  for (int i = 0; i < D / 2; ++i) sums[i] = 0;
  const auto meet = [&](u32 values) {
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) add_columns(sums, weights[n], tile_at(values + n * 2048, SPAN * 128));
    sent();
  };
  if (own_group == QUERY_GROUPS - 1) turn_to(0);
  tile_there(of_keys(0), 0);
  turn_of(own_group);
  score(s, ks);
  turn_to((own_group + 1) % QUERY_GROUPS);
  finished<0>(s);
  was_read(of_keys(0));
  weigh(s, p, 0, edge(0), most, total, rest);
  pack_weights(s, weights, drops, blockIdx.y, rows, cols, own, 0);
  for (int j = 0; j + 1 < tiles; ++j) {
    const u32 here = u32(j % 2) * kTile, next = u32((j + 1) % 2) * kTile;
    tile_there(of_keys(j + 1), j + 1);
    pinned(sums);
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
    turn_of(own_group);
    score(s, ks + next);
    tile_there(of_values(j), j);
    begun();
    meet(vs + here);
    turn_to((own_group + 1) % QUERY_GROUPS);
    finished<1>(s);
    was_read(of_keys(j + 1));
    weigh(s, p, (j + 1) * SPAN, edge((j + 1) * SPAN), most, total, rest);
    finished<0>(sums);
    was_read(of_values(j));
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
    if (__any_sync(0xffffffffu, rest[0] != 1.0f || rest[1] != 1.0f)) {
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[4 * d + e] *= rest[e / 2];
    }
    pack_weights(s, weights, drops, blockIdx.y, rows, cols, own, (j + 1) * SPAN);
  }
  tile_there(of_values(tiles - 1), tiles - 1);
  pinned(sums);
#pragma unroll
  for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
  begun();
  meet(vs + u32((tiles - 1) % 2) * kTile);
  finished<0>(sums);
  if (own_group == 0) turn_of(0);  // what the last group gave, so that none is left over
  out += batch * so.batch + head * so.head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = total[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int row = own + half * 8 + lane / 4;
    if (row >= rows) continue;
    const float share = sum == 0.0f ? 0.0f : (DROPS ? drops.rest : 1.0f) / sum;
    u32* to = reinterpret_cast<u32*>(out + row * so.row);
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
      to[d * 4 + lane % 4] = packed(sums[4 * d + 2 * half] * share, sums[4 * d + 2 * half + 1] * share);
    if (lane % 4 == 0)
      lse[i64(blockIdx.y) * rows + row] =
          sum == 0.0f ? -__int_as_float(0x7f800000) : (most[half] + log2f(sum)) * 0.69314718055994530942f;
  }
}
#endif
