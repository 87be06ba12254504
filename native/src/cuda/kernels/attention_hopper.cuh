#pragma once
// Attention on Hopper's matrix units, for heads of 64 or 128 numbers, with hopper.cuh's macros and PAIRS 1 where two neighbours of the
// mask are one load.
#include "cuda/kernels/attention_weights.cuh"

#if D == 64 || D == 128
struct alignas(64) TensorMap {
  u64 words[16];
};
// `count` rows of D from `row` on, by the copy engine, which lays them out as fetch_tile does and tells a barrier; those past the end are zeros.
template <int count>
__device__ inline void fetch_tile(u32 to, const TensorMap* from, u32 barrier, int row, int head, int batch) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(count * D * 2) : "memory");
#pragma unroll
  for (int panel = 0; panel < D / 64; ++panel)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
        "[%6];" ::"r"(to + panel * (count * 128)),
        "l"(from), "r"(panel * 64), "r"(row), "r"(head), "r"(batch), "r"(barrier)
        : "memory");
}
// STAGES tiles of keys and as many of values in shared memory, as in attention.cpp. With D = 64 two blocks are at work on a multiprocessor and one of the
// warps that multiply fetches too. With D = 128 a block is alone: four warps more fetch and give their registers to the others,
// whose threads have 64 x 128 scores and outputs to keep, and the groups of four warps take turns in sending products.
#ifndef STAGES
#define STAGES (D == 64 ? 3 : 2)
#define BLOCKS (D == 64 ? 2 : 1)
#define TAKEN 240
#define TURNS (D == 128)
#endif
#define FETCHERS (BLOCKS == 1 ? 128 : 0)
// As `attention`, a block GROUPS * 64 queries, four warps for 64. The products of one tile's keys run while the weights of the tile before
// meet their values.
extern "C" __global__ void __launch_bounds__(THREADS + FETCHERS, BLOCKS)
    attention_hopper(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
        const __grid_constant__ TensorMap v, const void* mask, T* out, float* lse, Strides so, MaskStrides sm,
        int heads, int group, int rows, int cols, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kTile = SPAN * D * 2, kQueries = GROUPS * 64 * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u, ks = base + kQueries,
            vs = ks + STAGES * kTile;
  // Whether a tile is there (the copy ended) and whether it may be written again (all warps have read it).
  const u32 there = vs + STAGES * kTile, read = there + 2 * STAGES * 8, asked = read + 2 * STAGES * 8;
  const auto of_keys = [](int tile) { return u32(tile % STAGES) * 8; };
  const auto of_values = [](int tile) { return u32(tile % STAGES + STAGES) * 8; };
  const int blocks = (rows + GROUPS * 64 - 1) / (GROUPS * 64);
  const Part part = part_of(blocks, i64(cols) * D * 4);
  const int line = part.line, batch = line / heads, head = line % heads,
            first = (CAUSAL ? blocks - 1 - part.place : part.place) * (GROUPS * 64);
  const auto tiles_of = [&](int last) { return (CAUSAL ? min(cols, last) + SPAN - 1 : cols + SPAN - 1) / SPAN; };
  if (threadIdx.x == 0) {
#pragma unroll
    for (u32 i = 0; i < 2 * STAGES; ++i) {
      barrier_of(there + i * 8, 1);
      barrier_of(read + i * 8, GROUPS * 4);
    }
    barrier_of(asked, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int all_tiles = tiles_of(first + GROUPS * 64);
  const auto fetch = [&](const TensorMap* from, u32 to, u32 barrier, int tile) {
    if (tile >= STAGES) wait_for(read + barrier, u32(tile / STAGES - 1) & 1);
    if (FETCHERS || threadIdx.x % 32 == 0)
      fetch_tile<SPAN>(to + u32(tile % STAGES) * kTile, from, there + barrier, tile * SPAN, head / group, batch);
  };
  const auto fetch_keys = [&](int tile) { fetch(&k, ks, of_keys(tile), tile); };
  const auto fetch_values = [&](int tile) { fetch(&v, vs, of_values(tile), tile); };
  if (FETCHERS && threadIdx.x >= GROUPS * 128) {
    if (FETCHERS) registers_given<24>();
    if (threadIdx.x != GROUPS * 128) return;
    fetch_tile<GROUPS * 64>(base, &q, asked, first, head, batch);
    for (int j = 0; j < all_tiles; ++j) {
      fetch_keys(j);
      fetch_values(j);
    }
    return;
  }
  if (FETCHERS) registers_taken<TAKEN>();
  const int lane = threadIdx.x % 32, own_group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0),
            own = first + __shfl_sync(0xffffffffu, threadIdx.x / 32, 0) * 16;
  const int tiles = tiles_of(first + (TURNS ? GROUPS : own_group + 1) * 64);
  const bool fetches = !FETCHERS && own_group == GROUPS - 1 && __shfl_sync(0xffffffffu, threadIdx.x / 32, 0) % 4 == 0;
  if (fetches) {
    if (lane == 0) fetch_tile<GROUPS * 64>(base, &q, asked, first, head, batch);
    for (int j = 0; j < min(STAGES, all_tiles); ++j) {
      fetch_keys(j);
      fetch_values(j);
    }
  }
  Place p{nullptr, sm.row, sm.col, own + lane / 4, rows, cols, scale * 1.44269504088896340736f};
  if (MASK == 1) p.mask = static_cast<const u8*>(mask) + batch * sm.batch + head * sm.head;
  if (MASK == 2) p.mask = static_cast<const T*>(mask) + batch * sm.batch + head * sm.head;
  const auto edge = [&](int at) { return at + SPAN > cols || (CAUSAL && at + SPAN > first + own_group * 64); };
  const u64 queries = tile_at(base + own_group * (64 * 128), 0);
  const auto tile_there = [&](u32 barrier, int tile) { wait_for(there + barrier, u32(tile / STAGES) & 1); };
  const auto was_read = [&](u32 barrier) {
    if (lane == 0) arrive_at(read + barrier);
  };
  const auto score = [&](float(&s)[SPAN / 2], u32 keys) {
    const u64 of = tile_at(keys, 0);
    begun();
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
      const u64 a = queries + (d / 4 * (GROUPS * 64 * 128) + d % 4 * 32) / 16,
                b = of + (d / 4 * (SPAN * 128) + d % 4 * 32) / 16;
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
    const u64 of = tile_at(values, SPAN * 128);
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) add_columns(sums, weights[n], of + n * 128);
    sent();
  };
  if (TURNS && own_group == GROUPS - 1) turn_to(0);
  wait_for(asked, 0);
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
    if (fetches) {  // what the turn before has read
      if (j + STAGES < all_tiles) fetch_keys(j + STAGES);
      if (j && j - 1 + STAGES < all_tiles) fetch_values(j - 1 + STAGES);
    }
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
  write_rows(
      out + batch * so.batch + head * so.head, lse + i64(line) * rows, so.row, own, rows, sums, most, total, drops);
}
#endif
