#pragma once
// Attention on Hopper's matrix units, for heads of 128 numbers, as attention_hopper.cuh's for 64. Warp-specialised: what the
// registers of a block's threads are differs, so that a thread has room for the accumulators of 64 x 128 scores and outputs.
#include "cuda/kernels/attention_weights.cuh"

#if D == 64 || D == 128
#ifndef STAGES
#define STAGES 2
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef TAKEN
#define TAKEN 240
#endif
#ifndef TURNS
#define TURNS 1
#endif
#ifndef SECTION
#define SECTION (1 << 25)
#endif
// As `attention`, a block GROUPS * 64 queries. Four warps fetch keys and values, two tiles of each; the others, four for
// 64 queries, multiply. The products of one tile's keys run while the weights of the tile before meet their values, and
// the groups take turns in sending products, so that one computes its weights while the other's products run.
extern "C" __global__ void __launch_bounds__(THREADS + 128, BLOCKS) attention_specialised(const T* q, const T* k, const T* v,
    const void* mask, T* out, float* lse, Strides sq, Strides sk, Strides sv, Strides so, MaskStrides sm, int heads,
    int group, int rows, int cols, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kTile = SPAN * D * 2, kQueries = GROUPS * 64 * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u, ks = base + kQueries, vs = ks + STAGES * kTile;
  // Whether a tile is there (its threads' copies ended) and whether it may be written again (all warps have read it).
  const u32 there = vs + STAGES * kTile, read = there + 2 * STAGES * 8;
  const auto of_keys = [](int tile) { return u32(tile % STAGES) * 8; };
  const auto of_values = [](int tile) { return u32(tile % STAGES + STAGES) * 8; };
  const int blocks = (rows + GROUPS * 64 - 1) / (GROUPS * 64), lines = gridDim.x / blocks;
  int line, place;
  if (CAUSAL) {
    const int most = int(max(i64(1), SECTION / (i64(cols) * D * 4))), section = blockIdx.x / (most * blocks),
              many = min(most, lines - section * most), rest = blockIdx.x - section * most * blocks;
    line = section * most + rest % many;
    place = blocks - 1 - rest / many;
  } else {
    line = blockIdx.x / blocks;
    place = blockIdx.x % blocks;
  }
  const int batch = line / heads, head = line % heads, first = place * (GROUPS * 64);
  const int end = CAUSAL ? min(cols, first + GROUPS * 64) : cols, tiles = (end + SPAN - 1) / SPAN;
  if (threadIdx.x == 0) {
#pragma unroll
    for (u32 i = 0; i < 2 * STAGES; ++i) {
      barrier_of(there + i * 8, 128);
      barrier_of(read + i * 8, GROUPS * 4);
    }
  }
  __syncthreads();
  if (threadIdx.x >= GROUPS * 128) {
    registers_given<24>();
    const int thread = int(threadIdx.x) - GROUPS * 128;
    q += batch * sq.batch + head * sq.head;
    k += batch * sk.batch + head / group * sk.head;
    v += batch * sv.batch + head / group * sv.head;
    fetch_tile<GROUPS * 64, 128>(base, q, sq.row, first, rows, thread);
    for (int j = 0; j < tiles; ++j) {
      const u32 here = u32(j % STAGES) * kTile, before = u32(j / STAGES - 1) & 1;
      if (j >= STAGES) wait_for(read + of_keys(j), before);
      fetch_tile<SPAN, 128>(ks + here, k, sk.row, j * SPAN, cols, thread);
      fetched_tells(there + of_keys(j));
      if (j >= STAGES) wait_for(read + of_values(j), before);
      fetch_tile<SPAN, 128>(vs + here, v, sv.row, j * SPAN, cols, thread);
      fetched_tells(there + of_values(j));
    }
    fetched();
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    return;
  }
  registers_taken<TAKEN>();
  const int lane = threadIdx.x % 32, own_group = threadIdx.x / 128, own = first + threadIdx.x / 32 * 16;
  Place p{nullptr, sm.row, sm.col, own + lane / 4, rows, cols, scale * 1.44269504088896340736f};
  if (MASK == 1) p.mask = static_cast<const u8*>(mask) + batch * sm.batch + head * sm.head;
  if (MASK == 2) p.mask = static_cast<const T*>(mask) + batch * sm.batch + head * sm.head;
  const auto edge = [&](int at) { return at + SPAN > cols || (CAUSAL && at + SPAN > own); };
  const u32 mine = base + own_group * (64 * 128);
  const auto tile_there = [&](u32 barrier, int tile) {
    wait_for(there + barrier, u32(tile / STAGES) & 1);
    seen_by_products();
  };
  const auto was_read = [&](u32 barrier) {
    if (lane == 0) arrive_at(read + barrier);
  };
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
  if (TURNS && own_group == GROUPS - 1) turn_to(0);
  tile_there(of_keys(0), 0);
  if (TURNS) turn_of(own_group);
  score(s, ks);
  if (TURNS) turn_to((own_group + 1) % GROUPS);
  finished<0>(s);
  was_read(of_keys(0));
  weigh(s, p, 0, edge(0), most, total, rest);
  pack_weights(s, weights, drops, line, rows, cols, own, 0);
  for (int j = 0; j + 1 < tiles; ++j) {
    const u32 here = u32(j % STAGES) * kTile, next = u32((j + 1) % STAGES) * kTile;
    tile_there(of_keys(j + 1), j + 1);
    pinned(sums);
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
    if (TURNS) turn_of(own_group);
    score(s, ks + next);
    tile_there(of_values(j), j);
    begun();
    meet(vs + here);
    if (TURNS) turn_to((own_group + 1) % GROUPS);
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
    pack_weights(s, weights, drops, line, rows, cols, own, (j + 1) * SPAN);
  }
  tile_there(of_values(tiles - 1), tiles - 1);
  pinned(sums);
#pragma unroll
  for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
  begun();
  meet(vs + u32((tiles - 1) % STAGES) * kTile);
  finished<0>(sums);
  if (TURNS && own_group == 0) turn_of(0);  // what the last group gave, so that none is left over
  write_rows(out + batch * so.batch + head * so.head, lse + i64(line) * rows, so.row, own, rows, sums, most,
      total, drops);
}
#endif
