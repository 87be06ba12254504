#include "cpu/matrix_vector.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/parallel.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#ifdef __AVX2__
#define SHIM_WIDE_CLONES __attribute__((target_clones("avx512f", "default")))
#else
#define SHIM_WIDE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define SHIM_WIDE_CLONES
#endif

namespace shim::gemm {
namespace {

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float type __attribute__((vector_size(64), aligned(4), may_alias));
};
template <> struct Lanes<double> {
  typedef double type __attribute__((vector_size(64), aligned(8), may_alias));
};
template <class T> constexpr int64_t kWidth = 64 / int64_t(sizeof(T));

// Sums of a[i] * x[i] for the columns [begin, end) of m.
template <class T>
SHIM_WIDE_CLONES void dots(const T* m, int64_t ld, int64_t rows, const T* x, T* sums, int64_t begin, int64_t end) {
  using V = typename Lanes<T>::type;
  constexpr int64_t w = kWidth<T>;
  for (int64_t j = begin; j < end; ++j) {
    const T* a = m + j * ld;
    V s0 = {}, s1 = {}, s2 = {}, s3 = {};
    int64_t i = 0;
    for (; i + 4 * w <= rows; i += 4 * w) {
      s0 += *reinterpret_cast<const V*>(a + i) * *reinterpret_cast<const V*>(x + i);
      s1 += *reinterpret_cast<const V*>(a + i + w) * *reinterpret_cast<const V*>(x + i + w);
      s2 += *reinterpret_cast<const V*>(a + i + 2 * w) * *reinterpret_cast<const V*>(x + i + 2 * w);
      s3 += *reinterpret_cast<const V*>(a + i + 3 * w) * *reinterpret_cast<const V*>(x + i + 3 * w);
    }
    s0 += s1;
    s2 += s3;
    s0 += s2;
    T sum = 0;
    for (int k = 0; k < w; ++k) sum += s0[k];
    for (; i < rows; ++i) sum += a[i] * x[i];
    sums[j - begin] = sum;
  }
}

// sums[begin, end) of m x: columns are added four at a time, while the sums stay in the first-level cache.
template <class T>
SHIM_WIDE_CLONES void columns(const T* m, int64_t ld, int64_t cols, const T* x, T* sums, int64_t begin, int64_t end) {
  const int64_t n = end - begin;
  std::fill(sums, sums + n, T(0));
  int64_t j = 0;
  for (; j + 4 <= cols; j += 4) {
    const T *a = m + begin + j * ld, *b = a + ld, *c = b + ld, *d = c + ld;
    const T xa = x[j], xb = x[j + 1], xc = x[j + 2], xd = x[j + 3];
    using V = typename Lanes<T>::type;
    constexpr int64_t w = kWidth<T>;
    int64_t i = 0;
    for (; i + w <= n; i += w)
      *reinterpret_cast<V*>(sums + i) +=
          (*reinterpret_cast<const V*>(a + i) * xa + *reinterpret_cast<const V*>(b + i) * xb) +
          (*reinterpret_cast<const V*>(c + i) * xc + *reinterpret_cast<const V*>(d + i) * xd);
    for (; i < n; ++i) sums[i] += (a[i] * xa + b[i] * xb) + (c[i] * xc + d[i] * xd);
  }
  for (; j < cols; ++j)
    for (int64_t i = 0; i < n; ++i) sums[i] += m[begin + i + j * ld] * x[j];
}

template <class T> SHIM_WIDE_CLONES void scaled(const T* x, T scale, T beta, T* to, int64_t n) {
  using V = typename Lanes<T>::type;
  constexpr int64_t w = kWidth<T>;
  int64_t i = 0;
  if (beta == 0) {
    for (; i + w <= n; i += w) *reinterpret_cast<V*>(to + i) = *reinterpret_cast<const V*>(x + i) * scale;
    for (; i < n; ++i) to[i] = x[i] * scale;
  } else {
    for (; i + w <= n; i += w)
      *reinterpret_cast<V*>(to + i) = *reinterpret_cast<V*>(to + i) * beta + *reinterpret_cast<const V*>(x + i) * scale;
    for (; i < n; ++i) to[i] = to[i] * beta + x[i] * scale;
  }
}

template <class T> const T* packed_vector(std::vector<T>& room, const T* x, int64_t step, int64_t n) {
  if (step == 1) return x;
  room.resize(size_t(n));
  for (int64_t i = 0; i < n; ++i) room[size_t(i)] = x[i * step];
  return room.data();
}

}  // namespace

template <class T>
void outer_product(int64_t rows, int64_t cols, T alpha, const T* x, int64_t step_x, const T* y, int64_t step_y, T beta,
    T* d, int64_t ld) {
  std::vector<T> room;
  x = packed_vector(room, x, step_x, rows);
  parallel_for(cols, std::max<int64_t>(1, kGrain / std::max<int64_t>(rows, 1)), [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j) scaled(x, alpha * y[j * step_y], beta, d + j * ld, rows);
  });
}

template void outer_product(
    int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
template void outer_product(
    int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

template <class T>
void matrix_vector(bool trans, int64_t rows, int64_t cols, T alpha, const T* m, int64_t ld, const T* x, int64_t step_x,
    T beta, T* y, int64_t step_y) {
  const int64_t length = trans ? rows : cols, results = trans ? cols : rows;
  std::vector<T> room;
  x = packed_vector(room, x, step_x, length);
  constexpr int64_t kPart = 2048;  // results at a time: they stay cached
  parallel_for(results, std::max<int64_t>(1, kGrain / std::max<int64_t>(length, 1)), [&](int64_t first, int64_t last) {
    T sums[kPart];
    for (int64_t begin = first; begin < last; begin += kPart) {
      const int64_t end = std::min(last, begin + kPart);
      if (trans)
        dots(m, ld, rows, x, sums, begin, end);
      else
        columns(m, ld, cols, x, sums, begin, end);
      for (int64_t i = begin; i < end; ++i) {
        T& to = y[i * step_y];
        const T product = alpha * sums[i - begin];
        to = beta == 0 ? product : product + beta * to;
      }
    }
  });
}

template void matrix_vector(
    bool, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
template void matrix_vector(
    bool, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

}  // namespace shim::gemm
