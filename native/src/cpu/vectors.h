#pragma once
// Vectors of 64 and of 32 bytes. Whole ones only in functions for SHIM_WIDE_TARGET: GCC makes code of them for AVX2 that is several times as
// long and goes through memory.
#include "cpu/instructions.h"

namespace shim {

template <class T> struct VectorsOf;
template <> struct VectorsOf<float> {
  typedef float Whole __attribute__((vector_size(64)));
  typedef float Half __attribute__((vector_size(32)));
};
template <> struct VectorsOf<double> {
  typedef double Whole __attribute__((vector_size(64)));
  typedef double Half __attribute__((vector_size(32)));
};

// Of memory that is not aligned as a V is, or one element.
template <class V, class T> __attribute__((always_inline)) inline void load_vector(V& v, const T* from) {
  __builtin_memcpy(&v, from, sizeof(V));
}
template <class V, class T> __attribute__((always_inline)) inline void store_vector(const V& v, T* to) {
  __builtin_memcpy(to, &v, sizeof(V));
}

}  // namespace shim
