#pragma once
// The pointwise kernels, compiled by NVRTC with these macros too:
//   T1.. the inputs' element types, K1.. what an input is (0 a tensor, 1 one element in device memory, 2 a number), V elements of one
//   load, WIDE 64-bit indices, FLAT the kernel over contiguous tensors, else the one over strides.
#include "cuda/kernels/functors.cuh"

#define UNROLL 2
#define THREADS 256

#if FLAT
// All tensors contiguous in the same order.
extern "C" __global__ void __launch_bounds__(THREADS)
    flat(i64 n, T0* out, const T1* a, const T2* b, const T3* c, C na, C nb, C nc, Extra e) {
  if (K1 == 1) na = take(*a);
  if (N_IN > 1 && K2 == 1) nb = take(*b);
  if (N_IN > 2 && K3 == 1) nc = take(*c);
  const i64 first = (i64(blockIdx.x) * THREADS * UNROLL + threadIdx.x) * V;
  Pack<T1, V> pa[UNROLL];
  Pack<T2, V> pb[UNROLL];
  Pack<T3, V> pc[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const i64 i = first + i64(u) * THREADS * V;
    if (i + V <= n) {
      if (K1 == 0) pa[u] = *reinterpret_cast<const Pack<T1, V>*>(a + i);
      if (N_IN > 1 && K2 == 0) pb[u] = *reinterpret_cast<const Pack<T2, V>*>(b + i);
      if (N_IN > 2 && K3 == 0) pc[u] = *reinterpret_cast<const Pack<T3, V>*>(c + i);
    }
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const i64 i = first + i64(u) * THREADS * V;
    if (i + V <= n) {
      Pack<T0, V> r;
#pragma unroll
      for (int k = 0; k < V; ++k)
        r.v[k] = compute(K1 == 0 ? take(pa[u].v[k]) : na, N_IN > 1 && K2 == 0 ? take(pb[u].v[k]) : nb,
            N_IN > 2 && K3 == 0 ? take(pc[u].v[k]) : nc, e);
      *reinterpret_cast<Pack<T0, V>*>(out + i) = r;
    } else {
      for (i64 k = i; k < n; ++k)
        out[k] = compute(
            K1 == 0 ? take(a[k]) : na, N_IN > 1 && K2 == 0 ? take(b[k]) : nb, N_IN > 2 && K3 == 0 ? take(c[k]) : nc, e);
    }
  }
}

#else
#if WIDE
typedef u64 Index;
#else
typedef u32 Index;
#endif
// Innermost first; steps in elements of each operand. With V > 1 the innermost size counts groups of V neighbours, which each operand
// has next to each other or, where its bit of `spread` is set, as one element. What is below 2**31 is divided by a size d with
// factor floor(2**32 (2**shift - d) / d) + 1 and shift ceil(log2 d).
struct Geometry {
  i64 size[10];
  i64 step[4][10];
  u32 factor[10], shift[10];
  int dims;
  u32 spread;
};

template <class X> __device__ inline Pack<X, V> group(const X* p, bool spread) {
  if (V == 1 || !spread) return *reinterpret_cast<const Pack<X, V>*>(p);
  Pack<X, V> r;
  const X x = *p;
#pragma unroll
  for (int k = 0; k < V; ++k) r.v[k] = x;
  return r;
}

__device__ inline Index quotient_by_size(Index n, const Geometry& g, int d) {
#if WIDE
  return n / Index(g.size[d]);
#else
  return (__umulhi(n, g.factor[d]) + n) >> g.shift[d];
#endif
}

// How many positions of a thread wait for their loads together.
constexpr int loads_in_32_bytes = 32 / (V * int(sizeof(T1)));
constexpr int together = loads_in_32_bytes < 1 ? 1 : loads_in_32_bytes > 4 ? 4 : loads_in_32_bytes;

// `n` groups.
extern "C" __global__ void __launch_bounds__(THREADS)
    strided(i64 n, T0* out, const T1* a, const T2* b, const T3* c, C na, C nb, C nc, Extra e, Geometry g) {
  const u64 stride = u64(gridDim.x) * THREADS;
  for (u64 first = u64(blockIdx.x) * THREADS + threadIdx.x; first < n; first += stride * together) {
    i64 to[together];
    Pack<T1, V> pa[together];
    Pack<T2, V> pb[together];
    Pack<T3, V> pc[together];
#pragma unroll
    for (int u = 0; u < together; ++u) {
      if (first + u * stride >= n) break;
      Index rest = Index(first + u * stride);
      i64 at[4] = {0, 0, 0, 0};
#pragma unroll
      for (int d = 0; d < 10; ++d) {
        if (d == g.dims) break;
        Index digit = rest;
        if (d + 1 < g.dims) {
          const Index q = quotient_by_size(rest, g, d);
          digit = rest - q * Index(g.size[d]);
          rest = q;
        }
#pragma unroll
        for (int k = 0; k <= N_IN; ++k) at[k] += i64(digit) * g.step[k][d];
      }
      to[u] = at[0];
      if (K1 < 2) pa[u] = group(a + at[1], g.spread & 2);
      if (N_IN > 1 && K2 < 2) pb[u] = group(b + at[2], g.spread & 4);
      if (N_IN > 2 && K3 < 2) pc[u] = group(c + at[3], g.spread & 8);
    }
#pragma unroll
    for (int u = 0; u < together; ++u) {
      if (first + u * stride >= n) break;
      Pack<T0, V> r;
#pragma unroll
      for (int k = 0; k < V; ++k)
        r.v[k] = compute(K1 < 2 ? take(pa[u].v[k]) : na, N_IN > 1 && K2 < 2 ? take(pb[u].v[k]) : nb,
            N_IN > 2 && K3 < 2 ? take(pc[u].v[k]) : nc, e);
      *reinterpret_cast<Pack<T0, V>*>(out + to[u]) = r;
    }
  }
}
#endif
