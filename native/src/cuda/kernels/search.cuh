#pragma once
// Places in sorted sequences, members of sets, and numbers made from their places, compiled by NVRTC with macros:
//   ELEMENT the element type, OUT the places' type; MAKES 1 for numbers made, 0 the search.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
#if MAKES
// out[i] = from start to end in equal steps, from both ends to the middle.
// Integers are stepped between in double, narrow floats in themselves, as on the CPU (cpu/spacing.h).
typedef pick<is_float<T>, T, pick<is_narrow<T>, float, double>::type>::type Step;
template <class E> __device__ inline E stepped(Step from, Step by, Step count) {
  if constexpr (is_narrow<E>)
    return cast<E>(from + widen(cast<E>(by * widen(cast<E>(count)))));
  else
    return E(fma(by, count, from));
}
extern "C" __global__ void __launch_bounds__(256) spaced(T* out, i64 n, Step start, Step end, Step step) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  const bool forward = i < n / 2;
  out[i] = stepped<T>(forward ? start : end, forward ? step : -step, Step(forward ? i : n - 1 - i));
}
#else
typedef typename pick<is_narrow<T>, float, T>::type Compared;
template <class X> __device__ inline Compared wide(X x) { return cast<Compared>(x); }
// out[i] = how many of a sequence of `n` come before values[i] (with `right`: or are equal to it): of the one sequence, or the row's where
// values are rows of `per_row`. Not "comes before" but "does not come after": so no number is last, as PyTorch has it.
extern "C" __global__ void __launch_bounds__(256)
    search(const T* sequences, const T* values, const i64* order, OUT* out, i64 total, i64 n, i64 per_row, int right) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < total; i += i64(gridDim.x) * 256) {
    const i64 begin = per_row ? i / per_row * n : 0;
    const Compared value = wide(values[i]);
    i64 low = 0, high = n;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      const Compared there = wide(sequences[begin + (order ? order[begin + middle] : middle)]);
      if (right ? !(there > value) : !(there >= value))
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = OUT(low);
  }
}
// out[i] = whether values[i] is among `n` members, sorted or few, or with `invert` is not.
extern "C" __global__ void __launch_bounds__(256)
    member(const T* members, const T* values, u8* out, i64 total, i64 n, int sorted, int invert) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < total; i += i64(gridDim.x) * 256) {
    const Compared value = wide(values[i]);
    i64 low = 0, high = sorted ? n : 0;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (wide(members[middle]) < value)
        low = middle + 1;
      else
        high = middle;
    }
    bool found = sorted && low < n && wide(members[low]) == value;
    for (i64 k = 0; !sorted && k < n; ++k) found |= wide(members[k]) == value;
    out[i] = found != bool(invert);
  }
}
#endif
