#pragma once
// Vector products, and complex numbers from polar coordinates, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type it is computed in.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
// Innermost first; steps in elements of the two inputs and the output.
struct Walk {
  i64 size[6];
  i64 step[3][6];
  int dims;
};
// out[p] = a[p] x b[p] for `total` vectors, whose components are these steps apart.
extern "C" __global__ void __launch_bounds__(256)
    cross(const T* a, const T* b, T* out, i64 total, i64 step_a, i64 step_b, i64 step_out, Walk g) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < total; i += i64(gridDim.x) * 256) {
    i64 rest = i, at[3] = {0, 0, 0};
#pragma unroll
    for (int d = 0; d < 6; ++d) {
      if (d == g.dims) break;
      i64 digit = rest;
      if (d + 1 < g.dims) {
        const i64 q =
            rest <= 0x7fffffff && g.size[d] <= 0x7fffffff ? i64(u32(rest) / u32(g.size[d])) : rest / g.size[d];
        digit = rest - q * g.size[d];
        rest = q;
      }
#pragma unroll
      for (int k = 0; k < 3; ++k) at[k] += digit * g.step[k][d];
    }
    const C x0 = cast<C>(a[at[0]]), x1 = cast<C>(a[at[0] + step_a]), x2 = cast<C>(a[at[0] + 2 * step_a]);
    const C y0 = cast<C>(b[at[1]]), y1 = cast<C>(b[at[1] + step_b]), y2 = cast<C>(b[at[1] + 2 * step_b]);
    out[at[2]] = cast<T>(C(x1 * y2 - x2 * y1));
    out[at[2] + step_out] = cast<T>(C(x2 * y0 - x0 * y2));
    out[at[2] + 2 * step_out] = cast<T>(C(x0 * y1 - x1 * y0));
  }
}
template <class X> __device__ inline Complex<X> turned(X length, X angle) {
  Complex<X> r;
  if constexpr (is_float<X>) {
    X sine, cosine;
    if constexpr (sizeof(X) == 4)
      sincosf(angle, &sine, &cosine);
    else
      sincos(angle, &sine, &cosine);
    r.real = length * cosine;
    r.imag = length * sine;
  }
  return r;
}
template <class X> struct alignas(16) Some {
  static constexpr int count = 16 / sizeof(X);
  X v[count];
};
// `packed`: operands that begin where loads of 16 bytes do.
extern "C" __global__ void __launch_bounds__(256)
    polar(const T* length, const T* angle, Complex<T>* out, i64 n, int packed) {
  constexpr int count = Some<T>::count;
  const i64 packs = packed ? n / count : 0, first = i64(blockIdx.x) * 256 + threadIdx.x, step = i64(gridDim.x) * 256;
  for (i64 k = first; k < packs; k += step) {
    const Some<T> a = reinterpret_cast<const Some<T>*>(length)[k], b = reinterpret_cast<const Some<T>*>(angle)[k];
    Some<Complex<T>> made[2];
#pragma unroll
    for (int i = 0; i < count; ++i) made[i / (count / 2)].v[i % (count / 2)] = turned(a.v[i], b.v[i]);
    reinterpret_cast<Some<Complex<T>>*>(out)[2 * k] = made[0];
    reinterpret_cast<Some<Complex<T>>*>(out)[2 * k + 1] = made[1];
  }
  for (i64 i = packs * count + first; i < n; i += step) out[i] = turned(length[i], angle[i]);
}
