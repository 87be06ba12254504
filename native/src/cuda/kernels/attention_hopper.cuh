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
// With GROUPS of 64 queries, SPAN keys at a time and STAGES tiles of keys and as many of values in shared memory, as attention_blocks.cpp chooses.
// With BLOCKS 2, two blocks are at work on a multiprocessor and one of the warps that multiply fetches too. A block that is alone has four warps
// more that fetch and give their registers to the others, whose threads have 64 x SPAN scores and 64 x D outputs to keep; the groups of
// four warps take turns in sending products. It is at work on one part of the queries after another, where there are more than blocks: what the
// next one reads is on its way while the last one's outputs are written.
#ifndef BLOCKS
#define BLOCKS 1
#define STAGES 2
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#define ALONE (BLOCKS == 1)
#define FETCHERS (ALONE ? 128 : 0)
#define TAKEN (GROUPS == 3 ? 160 : 240)
// As `attention`, in parts of GROUPS * 64 queries, four warps for 64. The products of one tile's keys run while the weights of the tile before
// meet their values. With SPLIT a part has all queries, and `each` of the keys, whole tiles.
extern "C" __global__ void __launch_bounds__(THREADS + FETCHERS, BLOCKS)
    attention_hopper(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
        const __grid_constant__ TensorMap v, const void* mask, T* out, float* lse, Strides so, MaskStrides sm,
        int heads, int group, int lines, int rows, int cols, int each, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kTile = SPAN * D * 2, kQueries = GROUPS * 64 * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u, ks = base + kQueries,
            vs = ks + STAGES * kTile;
  // Whether a tile is there (the copy ended) and whether it may be written again (all warps have read it); the same of the queries.
  const u32 there = vs + STAGES * kTile, read = there + 2 * STAGES * 8, asked = read + 2 * STAGES * 8,
            answered = asked + 8;
  const auto of_keys = [](int tile) { return u32(tile % STAGES) * 8; };
  const auto of_values = [](int tile) { return u32(tile % STAGES + STAGES) * 8; };
  const int blocks = SPLIT ? (cols + each - 1) / each : (rows + GROUPS * 64 - 1) / (GROUPS * 64);
  const auto start_of = [&](const Part& part) { return SPLIT ? part.place * each : 0; };
  const auto tiles_of = [&](const Part& part, int last) {
    const int keys = SPLIT ? min(cols - start_of(part), each) : CAUSAL ? min(cols, last) : cols;
    return (keys + SPAN - 1) / SPAN;
  };
  const auto first_of = [&](const Part& part) {
    return SPLIT ? 0 : (CAUSAL ? blocks - 1 - part.place : part.place) * (GROUPS * 64);
  };
  const auto part_at = [&](int place) { return part_of(place, lines, blocks, i64(cols) * D * 4); };
  if (threadIdx.x == 0) {
#pragma unroll
    for (u32 i = 0; i < 2 * STAGES; ++i) {
      barrier_of(there + i * 8, 1);
      barrier_of(read + i * 8, GROUPS * 4);
    }
    barrier_of(asked, 1);
    barrier_of(answered, GROUPS * 4);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int done = 0;    // tiles of the parts before
  u32 parity = 0;  // of the queries' barriers
  // The parts of the mask that belong to a tile come nearer, to where its readers find them soon.
  const auto fetch_mask = [&](int tile, const Part& part) {
    constexpr int kBytes = MASK == 1 ? 1 : 2, kLine = 128;
    if (!HELD) return;
    const int at = start_of(part) + (tile - done) * SPAN;
    const char* const from =
        static_cast<const char*>(mask) + (part.line / heads * sm.batch + part.line % heads * sm.head + at) * kBytes;
    for (int row = first_of(part) + threadIdx.x % 32, i = 0; i < GROUPS * 2; ++i, row += 32)
#pragma unroll
      for (int byte = 0; byte < SPAN * kBytes; byte += kLine)
        if (row < rows && at + byte / kBytes < cols)
          asm volatile("prefetch.global.L2 [%0];" ::"l"(from + row * sm.row * kBytes + byte));
  };
  const auto fetch = [&](const TensorMap* from, u32 to, u32 barrier, int tile, const Part& part) {
    if (tile >= STAGES) wait_for(read + barrier, u32(tile / STAGES - 1) & 1);
    if (threadIdx.x % 32 == 0)
      fetch_tile<SPAN>(to + u32(tile % STAGES) * kTile, from, there + barrier, start_of(part) + (tile - done) * SPAN,
          part.line % heads / group, part.line / heads);
  };
  const auto fetch_keys = [&](int tile, const Part& part) {
    fetch(&k, ks, of_keys(tile), tile, part);
    fetch_mask(tile, part);
  };
  const auto fetch_values = [&](int tile, const Part& part) { fetch(&v, vs, of_values(tile), tile, part); };
  const auto fetch_queries = [&](const Part& part) {
    fetch_tile<GROUPS * 64>(base, &q, asked, first_of(part), part.line % heads, part.line / heads);
  };
  if (ALONE && threadIdx.x >= GROUPS * 128) {
    if (GROUPS > 1) registers_given<24>();
    if (threadIdx.x >= GROUPS * 128 + (HELD ? 32 : 1)) return;
    for (int place = blockIdx.x; place < blocks * lines; place += gridDim.x, parity ^= 1) {
      const Part part = part_at(place);
      if (place != blockIdx.x) wait_for(answered, parity ^ 1);
      if (threadIdx.x % 32 == 0) fetch_queries(part);
      const int end = done + tiles_of(part, first_of(part) + GROUPS * 64);
      for (int tile = done; tile < end; ++tile) {
        fetch_keys(tile, part);
        fetch_values(tile, part);
      }
      done = end;
    }
    return;
  }
  if (ALONE && GROUPS > 1) registers_taken<TAKEN>();
  const int lane = threadIdx.x % 32, own_group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0),
            own_warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
  const bool fetches = !ALONE && own_warp == GROUPS * 4 - 4;
  const u64 queries = tile_at(base + own_group * (64 * 128), 0);
  const auto tile_there = [&](u32 barrier, int tile) { wait_for(there + barrier, u32(tile / STAGES) & 1); };
  const auto was_read = [&](u32 barrier) {
    if (lane == 0) arrive_at(barrier);
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
  float sums[D / 2], s[SPAN / 2];
  u32 weights[SPAN / 16][4];
  const auto meet = [&](u32 values) {
    const u64 of = tile_at(values, SPAN * 128);
    begun();
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) add_columns(sums, weights[n], of + n * 128);
    sent();
  };
  const auto keep_weights = [&] {
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) pinned(weights[n]);
  };
  if (ALONE && own_group == GROUPS - 1) turn_to(0);
  for (int place = blockIdx.x; place < blocks * lines; place += gridDim.x, parity ^= 1) {
    const Part part = part_at(place);
    const int line = part.line, batch = line / heads, head = line % heads, first = first_of(part),
              own = first + own_warp * 16, start = start_of(part), all_tiles = tiles_of(part, first + GROUPS * 64),
              tiles = ALONE ? all_tiles : tiles_of(part, first + own_group * 64 + 64);
    Place p{nullptr, sm.row, sm.col, own + lane / 4, rows, cols, scale * 1.44269504088896340736f};
    if (MASK == 1) p.mask = static_cast<const u8*>(mask) + batch * sm.batch + head * sm.head;
    if (MASK == 2) p.mask = static_cast<const T*>(mask) + batch * sm.batch + head * sm.head;
    const auto edge = [&](int at) { return at + SPAN > cols || (CAUSAL && at + SPAN > first + own_group * 64); };
    if (fetches) {
      if (lane == 0) fetch_queries(part);
      for (int tile = 0; tile < min(STAGES, all_tiles); ++tile) {
        fetch_keys(tile, part);
        fetch_values(tile, part);
      }
    }
    Masked masked;
    float most[2], total[2] = {}, rest[2];
    most[0] = most[1] = -__int_as_float(0x7f800000);
#pragma unroll
    for (int i = 0; i < D / 2; ++i) sums[i] = 0;
    wait_for(asked, parity);
    tile_there(of_keys(done), done);
    if (ALONE) turn_of(own_group);
    score(s, ks + u32(done % STAGES) * kTile);
    if (ALONE) turn_to((own_group + 1) % GROUPS);
    look_at_mask(masked, p, start);
    finished<0>(s);
    was_read(read + of_keys(done));
    weigh(s, masked, p, start, edge(start), most, total, rest);
    pack_weights(s, weights, drops, line, rows, cols, own, start);
    for (int j = 0; j + 1 < tiles; ++j) {
      const int here = done + j, next = here + 1, at = start + (j + 1) * SPAN;
      tile_there(of_keys(next), next);
      pinned(sums);
      keep_weights();
      if (ALONE) turn_of(own_group);
      score(s, ks + u32(next % STAGES) * kTile);
      tile_there(of_values(here), here);
      meet(vs + u32(here % STAGES) * kTile);
      if (ALONE) turn_to((own_group + 1) % GROUPS);
      if (fetches) {  // what the turn before has read
        if (j + STAGES < all_tiles) fetch_keys(j + STAGES, part);
        if (j && j - 1 + STAGES < all_tiles) fetch_values(j - 1 + STAGES, part);
      }
      look_at_mask(masked, p, at);
      finished<1>(s);
      was_read(read + of_keys(next));
      weigh(s, masked, p, at, edge(at), most, total, rest);
      finished<0>(sums);
      was_read(read + of_values(here));
      keep_weights();
      if (__any_sync(0xffffffffu, rest[0] != 1.0f || rest[1] != 1.0f)) {
#pragma unroll
        for (int d = 0; d < D / 8; ++d)
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[4 * d + e] *= rest[e / 2];
      }
      pack_weights(s, weights, drops, line, rows, cols, own, at);
    }
    if (ALONE) was_read(answered);
    const int last = done + tiles - 1;
    tile_there(of_values(last), last);
    pinned(sums);
    keep_weights();
    meet(vs + u32(last % STAGES) * kTile);
    finished<0>(sums);
    was_read(read + of_values(last));
    done += all_tiles;
    if (SPLIT) {
      const i64 place = (i64(part.place) * lines + line) * rows;
      write_rows(reinterpret_cast<float*>(out) + place * D, lse + place, D, own, rows, sums, most, total, drops);
    } else
      write_rows(
          out + batch * so.batch + head * so.head, lse + i64(line) * rows, so.row, own, rows, sums, most, total, drops);
    if (!ALONE) break;  // it has one part
  }
  if (ALONE && own_group == 0) turn_of(0);  // what the last group gave, so that none is left over
}
#endif
