#pragma once
// The quotient and the root as the instructions of full precision round them (but for a last bit, seldom), without the branches by
// which those take zeros and what is nearly out of range: a moment is often zero.
template <class X> __device__ inline X reciprocal(X x) { return 1 / x; }
template <class X> __device__ inline X quotient(X a, X b, X) { return a / b; }
template <class X> __device__ inline X root_of(X x) { return sqrt(x); }
#ifdef __CUDA_ARCH__
template <> __device__ inline float reciprocal(float x) {
  float r;
  asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
template <> __device__ inline float quotient(float a, float b, float one_by_b) {
  const float near = a * one_by_b, q = fmaf(fmaf(-near, b, a), one_by_b, near);
  return q == q ? q : near;  // of zeros and infinities
}
template <> __device__ inline float root_of(float x) {
  float by;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(by) : "f"(x));
  const float near = x * by;
  return x + x == x ? x : fmaf(fmaf(-near, near, x), 0.5f * by, near);
}
#endif
