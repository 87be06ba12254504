#pragma once
// Several neighbouring elements at once, read and written.
#include "cuda/kernels/types.cuh"

// Numbers first, first + 1, ... of out, of which there are n; in one store where they are whole and aligned.
template <class T, int many> __device__ inline void put(T* out, i64 first, i64 n, const T (&values)[many]) {
  if (first + many <= n && reinterpret_cast<u64>(out + first) % (sizeof(T) * many) == 0) {
    Pack<T, many> pack;
#pragma unroll
    for (int k = 0; k < many; ++k) pack.v[k] = values[k];
    *reinterpret_cast<Pack<T, many>*>(out + first) = pack;
  } else {
#pragma unroll
    for (int k = 0; k < many; ++k)
      if (first + k < n) out[first + k] = values[k];
  }
}
template <class T, int many> __device__ inline void get(const T* from, i64 first, i64 n, T (&values)[many]) {
  if (first + many <= n && reinterpret_cast<u64>(from + first) % (sizeof(T) * many) == 0) {
    const Pack<T, many> pack = *reinterpret_cast<const Pack<T, many>*>(from + first);
#pragma unroll
    for (int k = 0; k < many; ++k) values[k] = pack.v[k];
  } else {
#pragma unroll
    for (int k = 0; k < many; ++k)
      if (first + k < n) values[k] = from[first + k];
  }
}
