#pragma once
// How numbers of several ranks become one, as NCCL does it.
#include "cuda/kernels/types.cuh"

enum Join { kSum, kProduct, kLeast, kGreatest, kScaledSum };

template <class T> struct Wide {  // what values are added up in; rounded once, at the end
  typedef T type;
};
template <> struct Wide<Half> {
  typedef float type;
};
template <> struct Wide<Bf16> {
  typedef float type;
};

template <class T> __device__ inline T scaled(T x, double factor) {
  if constexpr (is_narrow<T>)
    return cast<T>(widen(x) * float(factor));
  else if constexpr (same_type<T, float>::value)
    return __fmul_rn(x, float(factor));  // never one instruction with the addition
  else if constexpr (same_type<T, double>::value)
    return __dmul_rn(x, factor);
  else
    return x;
}

template <class C> __device__ inline C joined(C a, C b, int join) {
  if constexpr (is_float<C>)
    return join == kProduct ? a * b : a + b;  // others of floating-point numbers are NCCL's
  else if (join == kLeast)
    return b < a ? b : a;
  else if (join == kGreatest)
    return a < b ? b : a;
  typedef typename unsigned_of<C>::type U;  // wraps
  if constexpr (!is_float<C>) return join == kProduct ? C(U(a) * U(b)) : C(U(a) + U(b));
}
