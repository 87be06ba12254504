#pragma once
// What has two results, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type it is computed in, V elements of one load, FLOATS 1 for floating ones.
#include "cuda/kernels/block.cuh"

#if FLOATS
// x = mantissa * 2^exponent, the mantissa of [0.5, 1); zeros, infinities and NaN are their own mantissas.
extern "C" __global__ void __launch_bounds__(256) frexp_of(const T* x, T* mantissas, int* exponents, i64 n) {
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    if (first + k >= n) break;
    const C own = wide(x[first + k]);
    int exponent = 0;
    C mantissa = own;
    if (isfinite(own)) mantissa = frexp(own, &exponent);
    mantissas[first + k] = cast<T>(mantissa);
    exponents[first + k] = exponent;
  }
}
#endif

// NaN stays.
struct Extent {
  C least, most;
};
__device__ inline void widen_to(Extent& e, C least, C most) {
  e.least = least < e.least || least != least ? least : e.least;
  e.most = most > e.most || most != most ? most : e.most;
}
__device__ inline Extent across(Extent e) {
  __shared__ C leasts[32], mosts[32];
#pragma unroll
  for (int step = 16; step; step /= 2)
    widen_to(e, C(__shfl_xor_sync(FULL, e.least, step)), C(__shfl_xor_sync(FULL, e.most, step)));
  if (threadIdx.x % 32 == 0) leasts[threadIdx.x / 32] = e.least, mosts[threadIdx.x / 32] = e.most;
  __syncthreads();
  for (int k = 0; k < int(blockDim.x) / 32; ++k) widen_to(e, leasts[k], mosts[k]);
  return e;
}
// A block for a row (x) and a part of it (y), of `per` elements, which loads divide as they do the row.
extern "C" __global__ void __launch_bounds__(512) extents(const T* x, T* least, T* most, i64 n, i64 per) {
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < n ? begin + per : n;
  const T* row = x + i64(blockIdx.x) * n;
  Extent e = {wide(row[begin]), wide(row[begin])};
#pragma unroll 4
  for (i64 i = begin + i64(threadIdx.x) * V; i < end; i += i64(blockDim.x) * V) {
    const Load some = load(row + i);
#pragma unroll
    for (int k = 0; k < V; ++k) widen_to(e, wide(some.v[k]), wide(some.v[k]));
  }
  e = across(e);
  const i64 at = i64(blockIdx.x) * gridDim.y + blockIdx.y;
  if (threadIdx.x == 0) least[at] = cast<T>(e.least), most[at] = cast<T>(e.most);
}
extern "C" __global__ void __launch_bounds__(256)
    extents_of_parts(const T* leasts, const T* mosts, T* least, T* most, i64 parts) {
  const i64 from = i64(blockIdx.x) * parts;
  Extent e = {wide(leasts[from]), wide(mosts[from])};
  for (i64 i = threadIdx.x; i < parts; i += blockDim.x) widen_to(e, wide(leasts[from + i]), wide(mosts[from + i]));
  e = across(e);
  if (threadIdx.x == 0) least[blockIdx.x] = cast<T>(e.least), most[blockIdx.x] = cast<T>(e.most);
}
