#pragma once
// What the kernels that work along rows share, compiled with macros:
//   ELEMENT the element type, C the type it is computed in, V elements of one load.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
typedef Pack<T, V> Load;
__device__ inline Load load(const T* p) { return *reinterpret_cast<const Load*>(p); }
__device__ inline void store(T* p, const Load& x) { *reinterpret_cast<Load*>(p) = x; }
// What is read for the last time, and written for nobody soon: first to leave the caches.
__device__ inline Load load_last(const T* p) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Load) == 16) {
    const float4 words = __ldcs(reinterpret_cast<const float4*>(p));
    return *reinterpret_cast<const Load*>(&words);
  }
#endif
  return load(p);
}
__device__ inline void store_past(T* p, const Load& x) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Load) == 16) {
    __stcs(reinterpret_cast<float4*>(p), *reinterpret_cast<const float4*>(&x));
    return;
  }
#endif
  store(p, x);
}
__device__ inline C wide(T x) { return cast<C>(x); }
#define FULL 0xffffffffu

// The sum over the block's threads, for each of them. blockDim.x is a multiple of 32.
template <class X> __device__ inline X across_block(X value) {
  __shared__ X shared[32];
#pragma unroll
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(FULL, value, step);
  if (blockDim.x == 32) return value;
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : X(0);
#pragma unroll
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(FULL, value, step);
  return value;
}
