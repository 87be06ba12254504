#pragma once
// Attention on Hopper's matrix units, for heads of 64 numbers, with their macros and PAIRS 1 where two neighbours of
// the mask are one load.
#include "cuda/kernels/attention_weights.cuh"

#if D == 64
// As `attention`, a block GROUPS * 64 queries. The products of one tile's keys run while the weights of the tile before meet their values.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    attention_hopper(const T* q, const T* k, const T* v, const void* mask, T* out, float* lse, Strides sq, Strides sk,
        Strides sv, Strides so, MaskStrides sm, int heads, int group, int rows, int cols, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kTile = SPAN * D * 2, kQueries = GROUPS * 64 * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u, ks = base + kQueries, vs = ks + 2 * kTile;
  const int lane = threadIdx.x % 32, own_group = threadIdx.x / 128, batch = blockIdx.y / heads,
            head = blockIdx.y % heads;
  const int first = int(CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * (GROUPS * 64),
            own = first + threadIdx.x / 32 * 16;
  q += batch * sq.batch + head * sq.head;
  k += batch * sk.batch + head / group * sk.head;
  v += batch * sv.batch + head / group * sv.head;
  Place p{nullptr, sm.row, sm.col, own + lane / 4, rows, cols, scale * 1.44269504088896340736f};
  if (MASK == 1) p.mask = static_cast<const u8*>(mask) + batch * sm.batch + head * sm.head;
  if (MASK == 2) p.mask = static_cast<const T*>(mask) + batch * sm.batch + head * sm.head;
  const int end = CAUSAL ? min(cols, first + GROUPS * 64) : cols, tiles = (end + SPAN - 1) / SPAN;
  fetch_tile<GROUPS * 64>(base, q, sq.row, first, rows);
  fetch_tile<SPAN>(ks, k, sk.row, 0, cols);
  fetched();
  settled();
  fetch_tile<SPAN>(vs, v, sv.row, 0, cols);
  if (tiles > 1) fetch_tile<SPAN>(ks + kTile, k, sk.row, SPAN, cols);
  fetched();
  const auto edge = [&](int at) { return at + SPAN > cols || (CAUSAL && at + SPAN > own); };
  const u32 mine = base + own_group * (64 * 128);
  const auto score = [&](float(&s)[SPAN / 2], u32 keys) {
    begun();
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
      const u64 a = tile_at(mine + d / 4 * (GROUPS * 64 * 128) + d % 4 * 32, 0),
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
  score(s, ks);
  finished<0>(s);
  weigh(s, p, 0, edge(0), most, total, rest);
  pack_weights(s, weights, drops, blockIdx.y, rows, cols, own, 0);
  for (int j = 0; j + 1 < tiles; ++j) {
    settled();  // keys j + 1, values j; and nobody reads keys j or values j - 1 any more
    const u32 here = u32(j % 2) * kTile, next = u32((j + 1) % 2) * kTile;
    pinned(sums);
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
    score(s, ks + next);
    meet(vs + here);
    if (j + 2 < tiles) fetch_tile<SPAN>(ks + here, k, sk.row, (j + 2) * SPAN, cols);
    fetch_tile<SPAN>(vs + next, v, sv.row, (j + 1) * SPAN, cols);
    fetched();
    finished<1>(s);
    weigh(s, p, (j + 1) * SPAN, edge((j + 1) * SPAN), most, total, rest);
    finished<0>(sums);
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
  settled();
  pinned(sums);
#pragma unroll
  for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
  begun();
  meet(vs + u32((tiles - 1) % 2) * kTile);
  finished<0>(sums);
  write_rows(out + batch * so.batch + head * so.head, lse + i64(blockIdx.y) * rows, so.row, own, rows, sums, most,
      total, drops);
}
#endif
