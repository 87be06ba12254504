#pragma once
// Activations and their slopes in the type that products are added in.
#include "cuda/kernels/gemm_types.cuh"

enum Mode { SUM = 0, RELU = 1, GELU = 2, GELU_TANH = 3 };

__device__ inline float erf_of(float x) { return erff(x); }
__device__ inline double erf_of(double x) { return erf(x); }
__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float tanh_of(float x) { return tanhf(x); }
__device__ inline double tanh_of(double x) { return tanh(x); }

// What is rounded to 16 bits afterwards may have an error of a few last bits of float32, and is made of the device's own
// reciprocal and power of two.
#if TYPE == 1 || TYPE == 2
__device__ inline A inverse(A x) {
  A r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ inline A power_of_two(A x) {
  A r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// 0.5 (1 + tanh(u)), u = 0.798 (z + 0.0447 z^3): 1 / (1 + exp(-2 u)).
__device__ inline A tanh_gate(A z) {
  const A a = A(-2 * 1.4426950408889634 * 0.79788456080286535588);
  return inverse(A(1) + power_of_two(z * (a + a * A(0.044715) * z * z)));
}

// The normal distribution's function at z, and exp(-z^2 / 2): 0.5 erfc(|z| / sqrt 2) is that exponential times a polynomial of
// 1 / (1 + 0.31 |z|), fitted to a relative error of 5e-6.
__device__ inline A normal(A z, A* bell) {
  const A x = fabsf(z), t = inverse(A(1) + A(0.31) * x);
  *bell = power_of_two(A(-0.72134752044448170) * z * z);
  A p = A(-0.07392886238745726);
  p = A(0.1804486432268635) + p * t;
  p = A(0.01574804428400724) + p * t;
  p = A(0.13342694616179313) + p * t;
  p = A(0.12044235470073786) + p * t;
  p = A(0.12386055501063381) + p * t;
  const A tail = p * t * *bell;
  return z < A(0) ? tail : A(1) - tail;
}
#else
__device__ inline A tanh_gate(A z) {
  return A(0.5) * (A(1) + tanh_of(A(0.79788456080286535588) * (z + A(0.044715) * z * z * z)));
}
__device__ inline A normal(A z, A* bell) {
  *bell = exp_of(A(-0.5) * z * z);
  return A(0.5) * (A(1) + erf_of(z * A(0.70710678118654752440)));
}
#endif

template <int MODE> __device__ inline A act(A z) {
  if (MODE == RELU) return z <= A(0) ? A(0) : z;  // NaN stays
  if (MODE == GELU) {
    A bell;
    return z * normal(z, &bell);
  }
  return z * tanh_gate(z);
}

// dy * act'(z); for relu `z` is the activation's result.
template <int MODE> __device__ inline A slope(A g, A z) {
  if (MODE == SUM) return g;
  if (MODE == RELU) return z <= A(0) ? A(0) : g;
  if (MODE == GELU) {
    A bell;
    const A cdf = normal(z, &bell);
    return g * (cdf + z * bell * A(0.39894228040143267794));
  }
  const A c = A(0.79788456080286535588), k = A(0.044715);
#if TYPE == 1 || TYPE == 2
  const A t = tanh_gate(z);
  return g * (t + (t - t * t) * z * (A(2) * c + A(6) * c * k * z * z));
#else
  const A h = tanh_of(c * (z + k * z * z * z)), t = A(0.5) * (A(1) + h), bell = A(0.5) * (A(1) - h * h);
  return g * (t + z * bell * c * (A(1) + A(3) * k * z * z));
#endif
}
