#pragma once
// Draws that look at an element, compiled by NVRTC with macros:
//   ELEMENT the element type, WIDE 1 for numbers of 64 bits.
#include "cuda/kernels/packs.cuh"
#include "cuda/kernels/philox.cuh"

typedef ELEMENT T;
// out[i] = whether a uniform number is below chance[i].
extern "C" __global__ void __launch_bounds__(256) bernoulli(const T* chances, T* out, i64 n, u64 seed, u64 start) {
  typedef typename pick<WIDE, double, float>::type R;
  constexpr int each = WIDE ? 2 : 4;
  const i64 block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * each;
  if (first >= n) return;
  T values[each];
  get(chances, first, n, values);
  const Words w = philox(seed, start + block);
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const R u = uniform_number<WIDE>(w, k);
    values[k] = cast<T>(u < cast<R>(values[k]) ? R(1) : R(0));
  }
  put(out, first, n, values);
}
// out = x times its slope: 1 where x is positive, else a number of [low, low + span), of the element's digits.
extern "C" __global__ void __launch_bounds__(256)
    rrelu(const T* x, T* out, T* slopes, i64 n, u64 seed, u64 start, double span, double low) {
  typedef typename pick<sizeof(T) == 8, double, float>::type R;
  const i64 block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * 4;
  if (first >= n) return;
  T values[4], drawn[4];
  get(x, first, n, values);
  const Words w = philox(seed, start + block);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const R own = cast<R>(values[k]);
    drawn[k] = own > R(0) ? cast<T>(R(1)) : cast<T>(__fadd_rn(__fmul_rn(unit(w.v[k]), float(span)), float(low)));
    values[k] = cast<T>(R(own * cast<R>(drawn[k])));
  }
  put(out, first, n, values);
  put(slopes, first, n, drawn);
}
