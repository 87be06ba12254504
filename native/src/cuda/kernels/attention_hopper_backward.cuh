#pragma once
// Attention's gradients on Hopper's matrix units, for heads of 64 or 128 numbers, with
// their macros. One pass over the scores: a block keeps the gradients of its keys and values in registers and adds its part of the queries'
// gradients to sums in memory, in whatever order blocks come by.
#include "cuda/kernels/hopper.cuh"

#if D == 64 || D == 128
#define OWN_KEYS (GROUPS * 64)  // keys of a block
#define SPAN 64                 // queries at a time
#define STAGES 2                // tiles of queries: one read, one that comes
#define SUMS (D / 4)            // of the queries' gradients in a thread

// For each query the logsumexp in powers of two (of one that sees nothing, and of those past the end, infinity, which leaves no weight) and
// sum over D of g * out; zeros where gradients will be added. D / 8 threads a query; `lines` is `rows` rounded up to whole tiles.
extern "C" __global__ void __launch_bounds__(THREADS) attention_levels(const T* g, const T* out, const float* lse,
    float* levels, float* inner, float* sums, Strides sg, Strides so, int heads, int rows, int lines) {
  constexpr int kParts = D / 8;
  const int row = blockIdx.x * (THREADS / kParts) + threadIdx.x / kParts, part = threadIdx.x % kParts,
            batch = blockIdx.y / heads, head = blockIdx.y % heads;
  if (row >= lines) return;  // whole warps: lines is a multiple of 64
  struct alignas(16) Part {
    T x[8];
  };
  float sum = 0;
  if (row < rows) {
    const Part a = *reinterpret_cast<const Part*>(g + batch * sg.batch + head * sg.head + row * sg.row + part * 8);
    const Part b = *reinterpret_cast<const Part*>(out + batch * so.batch + head * so.head + row * so.row + part * 8);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += widen(a.x[i]) * widen(b.x[i]);
  }
#pragma unroll
  for (int step = kParts / 2; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const i64 line = i64(blockIdx.y) * lines + row;
  if (part == 0) {
    const float of = row < rows ? lse[i64(blockIdx.y) * rows + row] : -__int_as_float(0x7f800000);
    levels[line] = of == -__int_as_float(0x7f800000) ? __int_as_float(0x7f800000) : of * 1.44269504088896340736f;
    inner[line] = sum;
  }
  struct alignas(16) Four {
    float x[4];
  };
  Four* to = reinterpret_cast<Four*>(sums + line * D + part * 8);
  to[0] = Four{};
  to[1] = Four{};
}

// What a mask makes of the score of a query and a key, in powers of two.
__device__ inline float masked(
    float s, const void* mask, const MaskStrides& sm, int row, int col, int rows, int cols, float factor) {
  const float low = -__int_as_float(0x7f800000);
  if (row >= rows || col >= cols) return low;
  const i64 place = row * sm.row + col * sm.col;
  if (MASK == 1) return static_cast<const u8*>(mask)[place] ? s * factor : low;
  return s * factor + widen(static_cast<const T*>(mask)[place]) * 1.44269504088896340736f;
}

// A block OWN_KEYS keys of one head of queries; dk and dv have as many heads as the queries. `sums` holds a tile of SPAN queries after another, each as
// the block's threads hold its products.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    attention_slopes(const T* q, const T* k, const T* v, const void* mask, const T* g, const float* levels,
        const float* inner, float* sums, T* dk, T* dv, Strides sq, Strides sk, Strides sv, Strides sg, Strides sd,
        MaskStrides sm, int heads, int group, int rows, int cols, int lines, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kKeys = OWN_KEYS * D * 2, kTile = SPAN * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u;
  const u32 ks = base, vs = ks + kKeys, ss = vs + kKeys, tiles = ss + OWN_KEYS * SPAN * 2,
            numbers = tiles + STAGES * 2 * kTile;
  const int parts = (cols + OWN_KEYS - 1) / OWN_KEYS;
  const Part block = part_of(blockIdx.x, gridDim.x / parts, parts, i64(rows) * D * 8);
  const int lane = threadIdx.x % 32, own_group = threadIdx.x / 128, line = block.line, batch = line / heads,
            head = line % heads;
  const int first = block.place * OWN_KEYS, own = first + threadIdx.x / 32 * 16, key = own + lane / 4;
  q += batch * sq.batch + head * sq.head;
  g += batch * sg.batch + head * sg.head;
  k += batch * sk.batch + head / group * sk.head;
  v += batch * sv.batch + head / group * sv.head;
  if (MASK == 1) mask = static_cast<const u8*>(mask) + batch * sm.batch + head * sm.head;
  if (MASK == 2) mask = static_cast<const T*>(mask) + batch * sm.batch + head * sm.head;
  levels += i64(line) * lines;
  inner += i64(line) * lines;
  sums += i64(line) * lines * D;
  const float factor = scale * 1.44269504088896340736f, low = -__int_as_float(0x7f800000);
  const int start = CAUSAL ? first : 0, turns = start < rows ? (rows - start + SPAN - 1) / SPAN : 0;
  // Blocks of a head begin at different queries, so that they seldom add to the same sums at a time.
  const int turn = turns ? block.place % turns : 0;
  const auto query = [&](int i) {
    const int t = i + turn;
    return start + (t < turns ? t : t - turns) * SPAN;
  };
  const auto fetch_queries = [&](int i) {
    const int at = query(i);
    const u32 to = tiles + u32(i % STAGES) * (2 * kTile);
    fetch_tile<SPAN>(to, q, sq.row, at, rows);
    fetch_tile<SPAN>(to + kTile, g, sg.row, at, rows);
    if (threadIdx.x < 32) {
      const float* from = (threadIdx.x < 16 ? levels : inner) + at + threadIdx.x % 16 * 4;
      asm volatile(
          "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(numbers + u32(i % STAGES) * (SPAN * 8) + threadIdx.x * 16),
          "l"(from)
          : "memory");
    }
  };
  float key_sums[D / 2], value_sums[D / 2];
  u32 weights[4][4], slopes[4][4];
#pragma unroll
  for (int i = 0; i < D / 2; ++i) key_sums[i] = value_sums[i] = 0;
  if (turns) {
    fetch_tile<OWN_KEYS>(ks, k, sk.row, first, cols);
    fetch_tile<OWN_KEYS>(vs, v, sv.row, first, cols);
    fetch_queries(0);
  }
  fetched();
  const u32 mine = own_group * (64 * 128);
  const auto score = [](float(&x)[32], u32 keys, u32 queries) {
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
      const u64 a = tile_at(keys + d / 4 * (OWN_KEYS * 128) + d % 4 * 32, 0),
                b = tile_at(queries + d / 4 * (SPAN * 128) + d % 4 * 32, 0);
      if (d == 0)
        first_rows(x, a, b);
      else
        add_rows(x, a, b);
    }
    sent();
  };
  for (int i = 0; i < turns; ++i) {
    settled();  // tile i; and nobody reads the slopes or tile i - 1 any more
    const int at = query(i);
    const u32 qs = tiles + u32(i % STAGES) * (2 * kTile), gs = qs + kTile,
              near = numbers + u32(i % STAGES) * (SPAN * 8) + lane % 4 * 8;
    float s[32], back[32], part[SUMS];
    begun();
    score(s, ks + mine, qs);
    score(back, vs + mine, gs);
    if (i + 1 < turns) fetch_queries(i + 1);
    fetched();
    finished<1>(s);
    const bool at_edge = first + OWN_KEYS > cols || (CAUSAL && at < first + OWN_KEYS);
    const auto weigh = [&](auto within) {
      constexpr bool edge = decltype(within)::value;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        float level[2];
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(level[0]), "=f"(level[1]) : "r"(near + n * 32));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float& x = s[4 * n + j];
          const int row = at + n * 8 + lane % 4 * 2 + j % 2, col = key + j / 2 * 8;
          if (MASK)
            x = masked(x, mask, sm, row, col, rows, cols, factor) - level[j % 2];
          else
            x = x * factor - level[j % 2];
          if (edge && (col >= cols || (CAUSAL && col > row))) x = low;
          x = power(x);
        }
      }
    };
    if (at_edge)  // a way of its own, as in attention_weights.cuh
      weigh(same_type<int, int>());
    else
      weigh(same_type<int, float>());
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      u32 bits[2][4];
      if (DROPS) {  // the lanes that hold these queries and keys where queries go along the rows
        u32 drawn[4];
        draw_block(drawn, drops, line, rows, cols, at + n * 16, own);
#pragma unroll
        for (int e = 0; e < 2; ++e)
#pragma unroll
          for (int w = 0; w < 4; ++w)
            bits[e][w] = __shfl_sync(0xffffffffu, drawn[w], (lane % 4 * 2 + e) * 4 + lane / 8);
      }
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        float* const x = s + (2 * n + p / 2) * 4 + p % 2 * 2;
        if (DROPS) {  // what is dropped is kept below zero until the slopes are made
#pragma unroll
          for (int e = 0; e < 2; ++e) x[e] = is_kept(drops, bits[e][p / 2 * 2 + p % 2], lane / 4 % 2) ? x[e] : -x[e];
          weights[n][p] = packed(fmaxf(x[0], 0.0f) * drops.rest, fmaxf(x[1], 0.0f) * drops.rest);
        } else {
          weights[n][p] = packed(x[0], x[1]);
        }
      }
    }
    pinned(value_sums);
#pragma unroll
    for (int n = 0; n < 4; ++n) pinned(weights[n]);
    begun();
#pragma unroll
    for (int n = 0; n < 4; ++n) add_columns(value_sums, weights[n], tile_at(gs + n * 2048, SPAN * 128));
    sent();
    finished<1>(back);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      float less[2];
      asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(less[0]), "=f"(less[1]) : "r"(near + SPAN * 4 + n * 32));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float x[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float p = s[4 * n + 2 * half + e], b = back[4 * n + 2 * half + e];
          x[e] = DROPS ? fabsf(p) * ((p > 0.0f ? b * drops.rest : 0.0f) - less[e]) : p * (b - less[e]);
        }
        const u32 both = packed(x[0], x[1]);
        slopes[n / 2][n % 2 * 2 + half] = both;
        const u32 row = threadIdx.x / 32 * 16 + half * 8 + lane / 4;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(ss + row * 128 + ((n ^ row % 8) << 4) + lane % 4 * 4), "r"(both)
            : "memory");
      }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();  // the slopes of all keys
    pinned(key_sums);
#pragma unroll
    for (int n = 0; n < 4; ++n) pinned(slopes[n]);
    begun();
#pragma unroll
    for (int n = 0; n < OWN_KEYS / 16; ++n) {  // of half the numbers of a query's gradient
      const u64 a = tile_at(ss + n * 2048, 0),
                b = tile_at(ks + own_group * (D == 128 ? OWN_KEYS * 128 : 64) + n * 2048, 0);
      if (n == 0)
        first_columns(part, a, b);
      else
        add_columns(part, a, b);
    }
    sent();
#pragma unroll
    for (int n = 0; n < 4; ++n) add_columns(key_sums, slopes[n], tile_at(qs + n * 2048, SPAN * 128));
    sent();
    finished<1>(part);
    pinned(value_sums);
#pragma unroll
    for (int n = 0; n < 4; ++n) pinned(weights[n]);
    float* const to = sums + i64(at) * D + own_group * (SPAN * D / 2) + threadIdx.x % 128 * 4;
#pragma unroll
    for (int c = 0; c < SUMS / 4; ++c)
      asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to + c * 512), "f"(part[4 * c]),
          "f"(part[4 * c + 1]), "f"(part[4 * c + 2]), "f"(part[4 * c + 3])
          : "memory");
    finished<0>(key_sums);  // here, not in the next turn: the compiler keeps no product on its way over a loop's end
#pragma unroll
    for (int n = 0; n < 4; ++n) pinned(slopes[n]);
  }
  dk += batch * sd.batch + head * sd.head;
  dv += batch * sd.batch + head * sd.head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int col = key + half * 8;
    if (col >= cols) continue;
    u32 *to = reinterpret_cast<u32*>(dk + col * sd.row), *other = reinterpret_cast<u32*>(dv + col * sd.row);
#pragma unroll
    for (int d = 0; d < D / 8; ++d) {
      to[d * 4 + lane % 4] = packed(key_sums[4 * d + 2 * half] * scale, key_sums[4 * d + 2 * half + 1] * scale);
      other[d * 4 + lane % 4] = packed(value_sums[4 * d + 2 * half], value_sums[4 * d + 2 * half + 1]);
    }
  }
}

// The queries' gradients of the sums, a block a tile: read as the products' threads left them, written by rows.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention_collect(const float* sums, T* dq, Strides sd, int heads, int rows, int lines, float scale) {
  struct alignas(16) Four {
    float x[4];
  };
  struct alignas(16) Part {
    T x[8];
  };
  __shared__ alignas(16) T tile[SPAN][LINE];
  const int batch = blockIdx.y / heads, head = blockIdx.y % heads, t = threadIdx.x % 128, lane = t % 32,
            first = blockIdx.x * SPAN;
  const Four* from =
      reinterpret_cast<const Four*>(sums + (i64(blockIdx.y) * lines + first) * D + threadIdx.x / 128 * (SPAN * D / 2)) +
      t;
  const int row = t / 32 * 16 + lane / 4, col = threadIdx.x / 128 * (D / 2) + lane % 4 * 2;
  Four x[SUMS / 4];
#pragma unroll
  for (int c = 0; c < SUMS / 4; ++c) x[c] = from[c * 128];
#pragma unroll
  for (int c = 0; c < SUMS / 4; ++c) {
    *reinterpret_cast<u32*>(&tile[row][col + c * 8]) = packed(x[c].x[0] * scale, x[c].x[1] * scale);
    *reinterpret_cast<u32*>(&tile[row + 8][col + c * 8]) = packed(x[c].x[2] * scale, x[c].x[3] * scale);
  }
  __syncthreads();
  dq += batch * sd.batch + head * sd.head;
  for (int k = threadIdx.x; k < SPAN * (D / 8); k += THREADS) {
    const int r = k / (D / 8), part = k % (D / 8) * 8;
    if (first + r < rows)
      *reinterpret_cast<Part*>(dq + i64(first + r) * sd.row + part) = *reinterpret_cast<const Part*>(&tile[r][part]);
  }
}
#endif
