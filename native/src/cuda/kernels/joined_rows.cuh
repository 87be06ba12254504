#pragma once
// Sums of a rank's row and of others that lie in its memory, compiled by NVRTC with a macro:
//   ELEMENT the type of the numbers.
#include "cuda/kernels/ranks.cuh"

typedef ELEMENT T;
constexpr int kNumbers = 16 / sizeof(T);
struct Rows {
  u64 at[8];  // of all ranks, in their order
  int count;
};

template <int count> __device__ inline void join(T* out, const Rows& rows, i64 i, int how, double factor) {
  typedef typename Wide<T>::type C;
  typedef Pack<T, count> Some;
  C sums[count];
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    if (r == rows.count) break;
    const Some x = reinterpret_cast<const Some*>(rows.at[r])[i];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const C one = cast<C>(how == kScaledSum ? scaled(x.v[k], factor) : x.v[k]);
      sums[k] = r ? joined(sums[k], one, how) : one;
    }
  }
  Some made;
#pragma unroll
  for (int k = 0; k < count; ++k) made.v[k] = cast<T>(sums[k]);
  reinterpret_cast<Some*>(out)[i] = made;
}

// Of `n` numbers; `wide`: all rows begin at whole loads.
extern "C" __global__ void __launch_bounds__(512)
    joined_rows(T* out, const __grid_constant__ Rows rows, i64 n, int wide, int how, double factor) {
  const i64 first = i64(blockIdx.x) * blockDim.x + threadIdx.x, step = i64(gridDim.x) * blockDim.x;
  const i64 packs = wide ? n / kNumbers : 0;
#pragma unroll 2
  for (i64 i = first; i < packs; i += step) join<kNumbers>(out, rows, i, how, factor);
  for (i64 i = packs * kNumbers + first; i < n; i += step) join<1>(out, rows, i, how, factor);
}
