#pragma once
// Lines of complex numbers between memory, where the two parts of a number lie side by side, and groups of lines whose parts stand
// apart, number k of line l at [k * lanes + l]: squares of as many elements as a vector holds are transposed at a time.
#include <cstdint>
#include <cstring>

#include "cpu/kernel_table.h"

namespace shim {
namespace {

#ifdef __clang__
#define SHIM_SHUFFLED(places, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else  // GCC 11 does not know the other
#define SHIM_SHUFFLED(places, a, b, ...) __builtin_shuffle(a, b, places{__VA_ARGS__})
#endif
typedef float Eight __attribute__((vector_size(32)));
typedef int32_t EightPlaces __attribute__((vector_size(32)));
typedef double Four __attribute__((vector_size(32)));
typedef int64_t FourPlaces __attribute__((vector_size(32)));

// v[i][k] and v[k][i] change places: first within halves of the vectors, then halves.
__attribute__((always_inline)) inline void transpose_square(Eight (&v)[8]) {
  Eight u[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    u[i] = SHIM_SHUFFLED(EightPlaces, v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    u[i + 1] = SHIM_SHUFFLED(EightPlaces, v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const int a = i / 2 + i / 2 * 3, b = i % 2;  // of rows 0-3, then 4-7
    v[a + 2 * b] = SHIM_SHUFFLED(EightPlaces, u[a + b], u[a + b + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    v[a + 2 * b + 1] = SHIM_SHUFFLED(EightPlaces, u[a + b], u[a + b + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    u[i] = SHIM_SHUFFLED(EightPlaces, v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    u[i + 4] = SHIM_SHUFFLED(EightPlaces, v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) v[i] = u[i];
}
__attribute__((always_inline)) inline void transpose_square(Four (&v)[4]) {
  const Four a = SHIM_SHUFFLED(FourPlaces, v[0], v[1], 0, 4, 2, 6),
             b = SHIM_SHUFFLED(FourPlaces, v[0], v[1], 1, 5, 3, 7);
  const Four c = SHIM_SHUFFLED(FourPlaces, v[2], v[3], 0, 4, 2, 6),
             d = SHIM_SHUFFLED(FourPlaces, v[2], v[3], 1, 5, 3, 7);
  v[0] = SHIM_SHUFFLED(FourPlaces, a, c, 0, 1, 4, 5), v[1] = SHIM_SHUFFLED(FourPlaces, b, d, 0, 1, 4, 5);
  v[2] = SHIM_SHUFFLED(FourPlaces, a, c, 2, 3, 6, 7), v[3] = SHIM_SHUFFLED(FourPlaces, b, d, 2, 3, 6, 7);
}

template <class T> struct SquareOf {
  using Line = Eight;
};
template <> struct SquareOf<double> {
  using Line = Four;
};

// Line i begins at from + i * step.
template <class T> SHIM_MATH_CLONES void lines_in(const T* from, int64_t step, int64_t n, int64_t lanes, T* re, T* im) {
  using Line = typename SquareOf<T>::Line;
  constexpr int64_t kSide = sizeof(Line) / sizeof(T);
  const int64_t whole = n / (kSide / 2) * (kSide / 2), wide = lanes / kSide * kSide;
  for (int64_t k = 0; k < whole; k += kSide / 2)
    for (int64_t i = 0; i < wide; i += kSide) {
      Line v[kSide];
#pragma GCC unroll 8
      for (int r = 0; r < kSide; ++r) std::memcpy(&v[r], from + (i + r) * step + 2 * k, sizeof(Line));
      transpose_square(v);
#pragma GCC unroll 8
      for (int r = 0; r < kSide; ++r) std::memcpy((r % 2 ? im : re) + (k + r / 2) * lanes + i, &v[r], sizeof(Line));
    }
  for (int64_t i = 0; i < lanes; ++i)
    for (int64_t k = i < wide ? whole : 0; k < n; ++k)
      re[k * lanes + i] = from[i * step + 2 * k], im[k * lanes + i] = from[i * step + 2 * k + 1];
}

// The way back, times `scale`.
template <class T>
SHIM_MATH_CLONES void lines_out(const T* re, const T* im, int64_t n, int64_t lanes, T scale, T* to, int64_t step) {
  using Line = typename SquareOf<T>::Line;
  constexpr int64_t kSide = sizeof(Line) / sizeof(T);
  const int64_t whole = n / (kSide / 2) * (kSide / 2), wide = lanes / kSide * kSide;
  for (int64_t k = 0; k < whole; k += kSide / 2)
    for (int64_t i = 0; i < wide; i += kSide) {
      Line v[kSide];
#pragma GCC unroll 8
      for (int r = 0; r < kSide; ++r) {
        std::memcpy(&v[r], (r % 2 ? im : re) + (k + r / 2) * lanes + i, sizeof(Line));
        v[r] *= scale;
      }
      transpose_square(v);
#pragma GCC unroll 8
      for (int r = 0; r < kSide; ++r) std::memcpy(to + (i + r) * step + 2 * k, &v[r], sizeof(Line));
    }
  for (int64_t i = 0; i < lanes; ++i)
    for (int64_t k = i < wide ? whole : 0; k < n; ++k)
      to[i * step + 2 * k] = re[k * lanes + i] * scale, to[i * step + 2 * k + 1] = im[k * lanes + i] * scale;
}

// Lines whose first numbers lie side by side, their k-th ones `apart` elements further.
template <class T>
SHIM_MATH_CLONES void neighbours_in(const T* from, int64_t apart, int64_t n, int64_t lanes, T* re, T* im) {
  for (int64_t k = 0; k < n; ++k)
#pragma GCC ivdep
    for (int64_t i = 0; i < lanes; ++i)
      re[k * lanes + i] = from[k * apart + 2 * i], im[k * lanes + i] = from[k * apart + 2 * i + 1];
}
template <class T>
SHIM_MATH_CLONES void neighbours_out(
    const T* re, const T* im, int64_t n, int64_t lanes, T scale, T* to, int64_t apart) {
  for (int64_t k = 0; k < n; ++k)
#pragma GCC ivdep
    for (int64_t i = 0; i < lanes; ++i)
      to[k * apart + 2 * i] = re[k * lanes + i] * scale, to[k * apart + 2 * i + 1] = im[k * lanes + i] * scale;
}

// Of real numbers in pairs, transformed as m complex ones z: number k of the halves is (z[k] + z*[m - k]) / 2 - i turn[k] / 2 (z[k] - z*[m - k]),
// where turn is (c, d): cosines and sines of -pi k / m. Ends: no imaginary part.
template <class T>
SHIM_MATH_CLONES void pairs_apart(
    const T* zr, const T* zi, const T* c, const T* d, int64_t m, int64_t lanes, T* xr, T* xi) {
  for (int64_t k = 0; k <= m; ++k) {
    const int64_t p = (k == m ? 0 : k) * lanes, q = (k ? m - k : 0) * lanes;
    const T keep = k == 0 || k == m ? T(0) : T(0.5);
#pragma GCC ivdep
    for (int64_t i = 0; i < lanes; ++i) {
      const T er = zr[p + i] + zr[q + i], ei = zi[p + i] - zi[q + i], fr = zr[p + i] - zr[q + i],
              fi = zi[p + i] + zi[q + i];
      xr[k * lanes + i] = T(0.5) * (er + fr * d[k] + fi * c[k]);
      xi[k * lanes + i] = keep * (ei + fi * d[k] - fr * c[k]);
    }
  }
}
// The way back, by the same turns, of m + 1 numbers the first and last of which count as real.
template <class T>
SHIM_MATH_CLONES void pairs_together(
    const T* xr, T* xi, const T* c, const T* d, int64_t m, int64_t lanes, T* zr, T* zi) {
  for (int64_t i = 0; i < lanes; ++i) xi[i] = xi[m * lanes + i] = T(0);
  for (int64_t k = 0; k < m; ++k) {
    const int64_t p = k * lanes, q = (m - k) * lanes;
#pragma GCC ivdep
    for (int64_t i = 0; i < lanes; ++i) {
      const T er = xr[p + i] + xr[q + i], ei = xi[p + i] - xi[q + i], fr = xr[p + i] - xr[q + i],
              fi = xi[p + i] + xi[q + i];
      zr[p + i] = er + (fr * d[k] - fi * c[k]);
      zi[p + i] = ei + (fr * c[k] + fi * d[k]);
    }
  }
}

}  // namespace
}  // namespace shim
