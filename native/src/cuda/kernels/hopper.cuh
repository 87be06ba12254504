#pragma once
// Hopper's matrix units (wgmma, compute capability 9.0) for heads of 64 or 128 numbers, with its macros and
// KIND_HALF 1 for float16.
#include "cuda/kernels/attention.cuh"

#if D == 64 || D == 128
#ifndef GROUPS
#define GROUPS 2  // of four warps, 64 rows of accumulators each
#endif
#define THREADS (GROUPS * 128)
#if KIND_HALF
#define KIND "f16.f16"
#else
#define KIND "bf16.bf16"
#endif
// The operands of 16, 32 or 64 accumulators: their places in the text and their registers.
#define NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_32 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                                \
  NAMES_32                                                                                                      \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define KEPT_4(how, i) how(d[i]), how(d[i + 1]), how(d[i + 2]), how(d[i + 3])
#define KEPT_16(how, i) KEPT_4(how, i), KEPT_4(how, i + 4), KEPT_4(how, i + 8), KEPT_4(how, i + 12)
#define ACCUMULATORS_16(how) KEPT_16(how, 0)
#define ACCUMULATORS_32(how) KEPT_16(how, 0), KEPT_16(how, 16)
#define ACCUMULATORS_64(how) ACCUMULATORS_32(how), KEPT_16(how, 32), KEPT_16(how, 48)
#define PRODUCT(n, count, adds, text)                                                                  \
  "{\n.reg .pred p;\nsetp.eq.u32 p, " adds ", 1;\nwgmma.mma_async.sync.aligned.m64n" n "k16.f32." KIND \
  " {" NAMES_##count "}, " text ";\n}\n"

// d (+)= a b of 64 x n numbers, two accumulators a column and thread: of tiles in shared memory, both by their rows; of both by their columns; and of
// a in registers and b by its columns. The first of a sum forgets what d was, which the compiler must see: other writes to d between
// products on their way make it wait for each.
#define MATRIX_PRODUCTS(n, count, c0, c1, c2, c3, c4)                                                                 \
  __device__ inline void first_rows(float(&d)[count], u64 a, u64 b) {                                                 \
    asm volatile(PRODUCT(n, count, "0", c0 ", " c1 ", p, 1, 1, 0, 0") : ACCUMULATORS_##count("=f") : "l"(a), "l"(b)); \
  }                                                                                                                   \
  __device__ inline void add_rows(float(&d)[count], u64 a, u64 b) {                                                   \
    asm volatile(PRODUCT(n, count, "1", c0 ", " c1 ", p, 1, 1, 0, 0") : ACCUMULATORS_##count("+f") : "l"(a), "l"(b)); \
  }                                                                                                                   \
  __device__ inline void first_columns(float(&d)[count], u64 a, u64 b) {                                              \
    asm volatile(PRODUCT(n, count, "0", c0 ", " c1 ", p, 1, 1, 1, 1") : ACCUMULATORS_##count("=f") : "l"(a), "l"(b)); \
  }                                                                                                                   \
  __device__ inline void add_columns(float(&d)[count], u64 a, u64 b) {                                                \
    asm volatile(PRODUCT(n, count, "1", c0 ", " c1 ", p, 1, 1, 1, 1") : ACCUMULATORS_##count("+f") : "l"(a), "l"(b)); \
  }                                                                                                                   \
  __device__ inline void add_columns(float(&d)[count], const u32(&a)[4], u64 b) {                                     \
    asm volatile(PRODUCT(n, count, "1", "{" c0 ", " c1 ", " c2 ", " c3 "}, " c4 ", p, 1, 1, 1")                       \
        : ACCUMULATORS_##count("+f")                                                                                  \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                        \
  }
MATRIX_PRODUCTS("32", 16, "%16", "%17", "%18", "%19", "%20")
MATRIX_PRODUCTS("64", 32, "%32", "%33", "%34", "%35", "%36")
MATRIX_PRODUCTS("128", 64, "%64", "%65", "%66", "%67", "%68")

// A tile of rows of 128 bytes whose 16-byte parts are exchanged (part ^ row % 8); a tile of D = 128 is two such panels.
__device__ inline u64 tile_at(u32 address, u32 panel) {
  return u64((address & 0x3ffff) >> 4) | u64(panel >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}
// Rows row, row + 1, ... of `count`; those past `rows` are zeros. A thread's parts are kStep rows apart, and so exchanged alike.
template <int count, int threads = THREADS>
__device__ inline void fetch_tile(u32 to, const T* from, i64 stride, int row, int rows, int thread = threadIdx.x) {
  constexpr int kParts = D / 8, kStep = threads / kParts;
  const int r = thread / kParts, c = thread % kParts;
  const u32 place = to + c / 8 * (count * 128) + r * 128 + ((c % 8 ^ r % 8) << 4);
  const T* source = from + i64(row + r) * stride + c * 8;
  const i64 step = stride * kStep;
  const int left = rows - row - r;
#pragma unroll
  for (int i = 0; i < count / kStep; ++i, source += step)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place + i * (kStep * 128)), "l"(source),
        "r"(i * kStep < left ? 16 : 0)
        : "memory");
}
__device__ inline void settled() {  // what this thread fetched is there, also for the matrix units
  asm volatile("cp.async.wait_group 0;\nfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}
// Barriers in shared memory: `count` arrivals end a phase, and the next one begins; phases are told apart by their parity.
__device__ inline void barrier_of(u32 at, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}
__device__ inline void arrive_at(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void fetched_tells(u32 barrier) {  // this thread arrives when what it fetched is there
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void wait_for(u32 barrier, u32 parity) {
  u32 over;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!over);
}
// What other threads wrote and this one knows of is seen by the matrix units too.
__device__ inline void seen_by_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Groups of 128 threads that take turns: one waits for its turn, which another gives it.
__device__ inline void turn_of(int group) { asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory"); }
__device__ inline void turn_to(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(group + 1) : "memory"); }
// Registers of each thread from here on; all four warps of a group say it.
template <int count> __device__ inline void registers_given() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> __device__ inline void registers_taken() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
__device__ inline void begun() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void sent() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <class X, int n>
__device__ inline void pinned(X (&d)[n]) {  // what is computed of d before stays before, what is after, after
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if constexpr (same_type<X, float>::value)
      asm volatile("" : "+f"(d[i])::"memory");
    else
      asm volatile("" : "+r"(d[i])::"memory");
  }
}
template <int pending, int n> __device__ inline void finished(float (&d)[n]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
  pinned(d);
}
// Which of `blocks` parts of which of `lines` heads is at a place. Where parts differ in work (causal) they come by it, the longest first, so that
// no long one is left for the end; of as many heads at a time as stay in the second-level cache with what all of a head's blocks read.
struct Part {
  int line, place;  // the place counts from the part with most work
};
__device__ inline Part part_of(int place, int lines, int blocks, i64 bytes_a_line) {
  if (!CAUSAL) return {place / blocks, place % blocks};
  const int most = int(max(i64(1), (1 << 25) / bytes_a_line)), section = place / blocks / most,
            many = min(most, lines - section * most), rest = place - section * most * blocks;
  return {section * most + rest % many, rest / many};
}
__device__ inline float power(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
#endif
