#pragma once
// A group of pointwise operators as one kernel (program/run_cuda.cpp), an expression given by macros (fused_nodes.cuh), and besides:
//   V elements a thread and access, FLAT without strides (2: and with loads of one element a column), WIDE 64-bit indices.
#include "cuda/kernels/fused_nodes.cuh"

#define THREADS 256

struct Strides {  // innermost first, in elements; of the innermost dim in groups of V
  i64 size[DIMS];
  i64 load[MOST_LOADS][DIMS], store[MOST_STORES][DIMS];
  int dims;
  u32 spread;  // loads of one element for all of a group
};

// clang-format off
#define FETCH(k) Pack<T_I##k, W> p##k; if (K_I##k != 1) p##k = fetched<T_I##k, W>(reinterpret_cast<const T_I##k*>(m.loads[k]) + at_load[k], spread >> k & 1);
#define RESULTS(k) Pack<T_O##k, W> r##k;
#define PUT(k) *reinterpret_cast<Pack<T_O##k, W>*>(reinterpret_cast<T_O##k*>(m.stores[k]) + at_store[k]) = r##k;

template <int W> __device__ inline void elements(const Memory& m, const i64* at_load, const i64* at_store, u32 spread) {
  TIMES(NUMBERS, NUMBER)
  TIMES(LOADS, ONE)
  TIMES(LOADS, FETCH)
  TIMES(STORES, RESULTS)
#pragma unroll
  for (int e = 0; e < W; ++e) {
    TIMES(LOADS, TAKE)
    TIMES(NODES, NODE)
    TIMES(STORES, GIVE)
  }
  TIMES(STORES, PUT)
}
// clang-format on

template <int W> __device__ inline void packed(const Memory& m, i64 first) {
  i64 at[MOST_STORES];
#pragma unroll
  for (int k = 0; k < MOST_STORES; ++k) at[k] = first;
  elements<W>(m, at, at, 0);
}

#if FLAT == 2
#define AT(k) at_load[k] = K_I##k == 2 ? column : first;
#define TO(k) at_store[k] = first;
// `n` elements, V a thread, in rows of `columns`, which V divides.
extern "C" __global__ void __launch_bounds__(THREADS) fused_columns(i64 n, Memory m, u32 columns) {
  const i64 first = (i64(blockIdx.x) * THREADS + threadIdx.x) * V;
  if (first >= n) return;
  const i64 column = n >> 32 ? i64(u64(first) % columns) : i64(u32(first) % columns);
  i64 at_load[MOST_LOADS], at_store[MOST_STORES];
  TIMES(LOADS, AT)
  TIMES(STORES, TO)
  elements<V>(m, at_load, at_store, 0);
}
#elif FLAT
// `n` elements, V a thread.
extern "C" __global__ void __launch_bounds__(THREADS) fused(i64 n, Memory m) {
  const i64 first = (i64(blockIdx.x) * THREADS + threadIdx.x) * V;
  if (first + V <= n) return packed<V>(m, first);
  for (i64 i = first; i < n; ++i) packed<1>(m, i);
}
#else
#if WIDE
typedef u64 Index;
#else
typedef u32 Index;
#endif
// `n` groups of V elements.
extern "C" __global__ void __launch_bounds__(THREADS) fused_strided(i64 n, Memory m, Strides s) {
  for (u64 position = u64(blockIdx.x) * THREADS + threadIdx.x; position < n; position += u64(gridDim.x) * THREADS) {
    Index rest = Index(position);
    i64 at_load[MOST_LOADS] = {}, at_store[MOST_STORES] = {};
#pragma unroll
    for (int d = 0; d < DIMS; ++d) {
      if (d == s.dims) break;
      const Index size = Index(s.size[d]);
      const Index q = d + 1 < s.dims ? rest / size : 0, digit = rest - q * size;
      rest = q;
#pragma unroll
      for (int k = 0; k < LOADS; ++k) at_load[k] += i64(digit) * s.load[k][d];
#pragma unroll
      for (int k = 0; k < STORES; ++k) at_store[k] += i64(digit) * s.store[k][d];
    }
    elements<V>(m, at_load, at_store, s.spread);
  }
}
#endif
