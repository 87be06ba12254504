#pragma once
// A group that reduces rows as one kernel (program/run_cuda_rows.cpp): a block a row, or a warp where WARP is 1. Each reduction is a pass over
// the row, which stays in the cache; the last pass writes. What is computed is given by macros (fused_nodes.cuh), and besides:
//   V elements a thread and access, THREADS of a block; PHASES what is computed once a row, in order: REDUCE(k, how) for a node that reduces,
//   NODE(k) for another; BEFORE_k the nodes that reduction k needs of each element, LAST those that the stores need; GIVES and PUTS of the
//   stores of elements, ROW_PUTS of those of one element a row; K_Ik 1 where load k is one element a row.
#include "cuda/kernels/fused_nodes.cuh"

struct Rows {      // in elements
  i64 size[DIMS];  // of the dims before the last, innermost first
  i64 load[MOST_LOADS][DIMS], store[MOST_STORES][DIMS];
  i64 load_step[MOST_LOADS], store_step[MOST_STORES];  // along a row
  int dims;
};

struct total {
  template <class X> __device__ static X first() { return X(0); }
  template <class X> __device__ static X join(X a, X b) { return a + b; }
  template <class X> __device__ static X done(X x, i64) { return x; }
};
struct average : total {
  template <class X> __device__ static X done(X x, i64 n) { return x / X(n); }
};
template <int sign> struct extreme {  // NaN if there is one
  template <class X> __device__ static X first() { return X(-sign * __longlong_as_double(0x7ff0000000000000)); }
  template <class X> __device__ static X join(X a, X b) { return a != a || (sign > 0 ? a > b : a < b) ? a : b; }
  template <class X> __device__ static X done(X x, i64) { return x; }
};
typedef extreme<1> largest;
typedef extreme<-1> smallest;

// What the row's threads have, joined, for each of them.
template <class How, class X> __device__ inline X across(X value) {
#pragma unroll
  for (int step = 16; step; step /= 2) value = How::join(value, __shfl_xor_sync(0xffffffffu, value, step));
#if !WARP
  __shared__ X shared[32];
  const int lane = threadIdx.x % 32;
  __syncthreads();
  if (lane == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = lane < THREADS / 32 ? shared[lane] : How::template first<X>();
#pragma unroll
  for (int step = 16; step; step /= 2) value = How::join(value, __shfl_xor_sync(0xffffffffu, value, step));
#endif
  return value;
}

// clang-format off
#if WARP
#define A_ROW 32
#else
#define A_ROW THREADS
#endif
#define COLUMNS for (i64 c = i64(thread) * V; c < columns; c += i64(A_ROW) * V)
#define ONE_A_ROW(k) T_I##k o##k; if (K_I##k == 1) o##k = reinterpret_cast<const T_I##k*>(m.loads[k])[at_load[k]];
#define TAKE_ROW(k) C_I##k i##k; if (K_I##k == 1) i##k = cast<C_I##k>(o##k);
#define FETCH(k) Pack<T_I##k, V> p##k; if (K_I##k == 0) p##k = *reinterpret_cast<const Pack<T_I##k, V>*>(reinterpret_cast<const T_I##k*>(m.loads[k]) + at_load[k] + (V == 1 ? c * s.load_step[k] : c));
#define REDUCE(k, How) \
  R_##k v##k = How::template first<R_##k>(); \
  COLUMNS { \
    TIMES(LOADS, FETCH) \
    _Pragma("unroll") for (int e = 0; e < V; ++e) { \
      TIMES(LOADS, TAKE) \
      BEFORE_##k \
      v##k = How::join(v##k, cast<R_##k>(X_##k)); \
    } \
  } \
  v##k = How::done(across<How>(v##k), columns);
#define RESULTS(k) Pack<T_O##k, V> r##k;
#define PUT(k) *reinterpret_cast<Pack<T_O##k, V>*>(reinterpret_cast<T_O##k*>(m.stores[k]) + at_store[k] + (V == 1 ? c * s.store_step[k] : c)) = r##k;
#define ROW_PUT(k) reinterpret_cast<T_O##k*>(m.stores[k])[at_store[k]] = cast<T_O##k>(V_O##k);

extern "C" __global__ void __launch_bounds__(THREADS) fused_rows(i64 rows, i64 columns, Memory m, Rows s) {
#if WARP
  const i64 row = i64(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
  const int thread = threadIdx.x % 32;
  if (row >= rows) return;
#else
  const i64 row = blockIdx.x;
  const int thread = threadIdx.x;
#endif
  u64 rest = row;
  i64 at_load[MOST_LOADS] = {}, at_store[MOST_STORES] = {};
#pragma unroll
  for (int d = 0; d < DIMS; ++d) {
    if (d == s.dims) break;
    const u64 q = d + 1 < s.dims ? rest / u64(s.size[d]) : 0, digit = rest - q * u64(s.size[d]);
    rest = q;
#pragma unroll
    for (int k = 0; k < LOADS; ++k) at_load[k] += i64(digit) * s.load[k][d];
#pragma unroll
    for (int k = 0; k < STORES; ++k) at_store[k] += i64(digit) * s.store[k][d];
  }
  TIMES(NUMBERS, NUMBER)
  TIMES(LOADS, ONE_A_ROW)
  TIMES(LOADS, TAKE_ROW)
  PHASES
  COLUMNS {
    TIMES(LOADS, FETCH)
    TIMES(STORES, RESULTS)
#pragma unroll
    for (int e = 0; e < V; ++e) {
      TIMES(LOADS, TAKE)
      LAST
      GIVES
    }
    PUTS
  }
#if WARP
  __syncwarp();
#else
  __syncthreads();  // all have read what the row's own elements replace
#endif
  if (thread) return;
  ROW_PUTS
}
// clang-format on
