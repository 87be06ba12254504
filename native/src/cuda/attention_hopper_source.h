#pragma once
// CUDA C++ of attention on Hopper's matrix units (wgmma, compute capability 9.0), for heads of 64 or 128 numbers; after attention_source.h,
// with its macros and PAIRS 1 where two neighbours of the mask are one load.
namespace shim::cuda {

inline constexpr const char* kAttentionHopperSource = R"cuda(
#if D == 64 || D == 128
#define GROUPS 2                                                // of four warps, 64 queries each
#define SPAN D                                                  // keys at a time
#define THREADS (GROUPS * 128)
#if KIND_HALF
#define KIND "f16"
#else
#define KIND "bf16"
#endif
#if D == 64
// d (+)= a b of 64 x 64 numbers: a from shared memory, b by its rows.
__device__ inline void multiply_rows(float (&d)[32], u64 a, u64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32." KIND "." KIND " {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "%32, %33, p, 1, 1, 0, 0;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                 "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                 "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "l"(a), "l"(b), "r"(add));
}
// The same with a in registers, b by its columns.
__device__ inline void multiply_columns(float (&d)[32], const u32 (&a)[4], u64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32." KIND "." KIND " {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "{%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                 "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                 "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
#else
__device__ inline void multiply_rows(float (&d)[64], u64 a, u64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." KIND "." KIND " {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
               "%62, %63}, "
               "%64, %65, p, 1, 1, 0, 0;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                 "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                 "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]),
                 "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]),
                 "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "l"(a), "l"(b), "r"(add));
}
__device__ inline void multiply_columns(float (&d)[64], const u32 (&a)[4], u64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." KIND "." KIND " {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
               "%62, %63}, "
               "{%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                 "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                 "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]),
                 "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]),
                 "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
#endif

// A tile of rows of 128 bytes whose 16-byte parts are exchanged (part ^ row % 8); a tile of D = 128 is two such panels.
__device__ inline u64 tile_at(u32 address, u32 panel) {
  return u64((address & 0x3ffff) >> 4) | u64(panel >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}
// Rows row, row + 1, ... of `count`; those past `rows` are zeros. A thread's parts are kStep rows apart, and so exchanged alike.
template <int count> __device__ inline void fetch_tile(u32 to, const T* from, i64 stride, int row, int rows) {
  constexpr int kParts = D / 8, kStep = THREADS / kParts;
  const int r = threadIdx.x / kParts, c = threadIdx.x % kParts;
  const u32 place = to + c / 8 * (count * 128) + r * 128 + ((c % 8 ^ r % 8) << 4);
  const T* source = from + i64(row + r) * stride + c * 8;
  const i64 step = stride * kStep;
  const int left = rows - row - r;
#pragma unroll
  for (int i = 0; i < count / kStep; ++i, source += step)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(place + i * (kStep * 128)), "l"(source), "r"(i * kStep < left ? 16 : 0) : "memory");
}
__device__ inline void settled() {                              // what this thread fetched is there, also for the matrix units
  asm volatile("cp.async.wait_group 0;\nfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}
__device__ inline void begun() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void sent() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <class X, int n> __device__ inline void pinned(X (&d)[n]) {     // what is computed of d before stays before, what is after, after
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if constexpr (same_type<X, float>::value) asm volatile("" : "+f"(d[i]) :: "memory");
    else asm volatile("" : "+r"(d[i]) :: "memory");
  }
}
template <int pending> __device__ inline void finished(float (&d)[D / 2]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
  pinned(d);
}
__device__ inline float power(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }

struct Place { const void* mask; i64 mask_row, mask_col; int row, rows, cols; float factor; };
// Scores of 64 x SPAN become weights, with the greatest of each row so far; what sums were must be multiplied by `rest`.
__device__ inline void weigh(float (&s)[SPAN / 2], const Place& p, int at, bool edge, float (&most)[2], float (&total)[2], float (&rest)[2]) {
  const float low = -__int_as_float(0x7f800000), kLog2 = 1.44269504088896340736f;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = p.row + half * 8;
    float top = low;
#pragma unroll
    for (int n = 0; n < SPAN / 8; ++n) {
      const int col = at + n * 8 + lane % 4 * 2;
      float *const x = s + 4 * n + 2 * half;
      if (MASK && row < p.rows && col < p.cols) {
        const i64 place = row * p.mask_row + col * p.mask_col;
        T added[2];
        u8 seen[2];
        if (MASK == 1) {
          const u8* from = static_cast<const u8*>(p.mask) + place;
          if (PAIRS) { const u16 both = *reinterpret_cast<const u16*>(from); seen[0] = u8(both); seen[1] = u8(both >> 8); }
          else { seen[0] = from[0]; seen[1] = col + 1 < p.cols ? from[p.mask_col] : u8(0); }
        } else {
          const T* from = static_cast<const T*>(p.mask) + place;
          if (PAIRS) { const u32 both = *reinterpret_cast<const u32*>(from); added[0].v = u16(both); added[1].v = u16(both >> 16); }
          else { added[0] = from[0]; added[1] = col + 1 < p.cols ? from[p.mask_col] : T{0}; }
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          x[e] *= p.factor;
          if (MASK == 1) x[e] = seen[e] ? x[e] : low;
          else x[e] += widen(added[e]) * kLog2;
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
__device__ inline void pack_weights(const float (&s)[SPAN / 2], u32 (&w)[SPAN / 16][4], const Drops& drops, i64 line, int rows, int cols, int row, int at) {
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

// As `attention`, a block GROUPS * 64 queries. The products of one tile's keys run while the weights of the tile before meet their values.
extern "C" __global__ void __launch_bounds__(THREADS, D == 64 ? 2 : 1) attention_hopper(const T* q, const T* k, const T* v, const void* mask, T* out, float* lse, Strides sq, Strides sk, Strides sv, Strides so, MaskStrides sm, int heads, int group, int rows, int cols, float scale, Drops drops) {
  extern __shared__ char space[];
  constexpr u32 kTile = SPAN * D * 2, kQueries = GROUPS * 64 * D * 2;
  const u32 base = (u32(__cvta_generic_to_shared(space)) + 1023) & ~1023u, ks = base + kQueries, vs = ks + 2 * kTile;
  const int lane = threadIdx.x % 32, own_group = threadIdx.x / 128, batch = blockIdx.y / heads, head = blockIdx.y % heads;
  const int first = int(CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * (GROUPS * 64), own = first + threadIdx.x / 32 * 16;
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
  const auto score = [&](float (&s)[SPAN / 2], u32 keys) {
    begun();
#pragma unroll
    for (int d = 0; d < D / 16; ++d)
      multiply_rows(s, tile_at(mine + d / 4 * (GROUPS * 64 * 128) + d % 4 * 32, 0), tile_at(keys + d / 4 * (SPAN * 128) + d % 4 * 32, 0), d != 0);
    sent();
  };
  float sums[D / 2], s[SPAN / 2], most[2], total[2] = {}, rest[2];
  u32 weights[SPAN / 16][4];
  most[0] = most[1] = -__int_as_float(0x7f800000);
#pragma unroll
  for (int i = 0; i < D / 2; ++i) sums[i] = 0;
  const auto meet = [&](u32 values) {
#pragma unroll
    for (int n = 0; n < SPAN / 16; ++n) multiply_columns(sums, weights[n], tile_at(values + n * 2048, SPAN * 128), 1);
    sent();
  };
  pinned(s);
  score(s, ks);
  finished<0>(s);
  weigh(s, p, 0, edge(0), most, total, rest);
  pack_weights(s, weights, drops, blockIdx.y, rows, cols, own, 0);
  for (int j = 0; j + 1 < tiles; ++j) {
    settled();                                                  // keys j + 1, values j; and nobody reads keys j or values j - 1 any more
    const u32 here = u32(j % 2) * kTile, next = u32((j + 1) % 2) * kTile;
    pinned(sums);
    pinned(s);
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
    for (int d = 0; d < D / 8; ++d) to[d * 4 + lane % 4] = packed(sums[4 * d + 2 * half] * share, sums[4 * d + 2 * half + 1] * share);
    if (lane % 4 == 0) lse[i64(blockIdx.y) * rows + row] = sum == 0.0f ? -__int_as_float(0x7f800000) : (most[half] + log2f(sum)) * 0.69314718055994530942f;
  }
}
#endif
)cuda";

}  // namespace shim::cuda
