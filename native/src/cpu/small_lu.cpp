#include "cpu/small_lu.h"

#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/vectors.h"

namespace shim {
namespace {

constexpr int64_t kTogether = 24, kLineBytes = 64;

// Elements of a triangle that is solved from its first row on; steps between its elements and between the lines of the right sides.
template <class T> struct Way {
  const T* data;
  int64_t down, right;
  T* lines;
  int64_t step;
  bool unit, conjugated;
  template <class V> V& line(int64_t i) const { return *reinterpret_cast<V*>(lines + i * step); }
  template <class V> V& imaginary(int64_t i) const {
    return *reinterpret_cast<V*>(lines + i * step + kLineBytes / int64_t(sizeof(T)));
  }
};

template <int R, class V, class T>
__attribute__((always_inline)) inline void some_rows(const Way<T>& w, int64_t first, int64_t i) {
  V sums[R];
  const T* a = w.data + i * w.down;
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) sums[r] = w.template line<V>(i + r);
  for (int64_t k = first; k < i;) {  // sums of few products at a time, whose roundings add up less
    V part[R] = {};
    for (const int64_t end = std::min(i, k + kTogether); k < end; ++k) {
      const V x = w.template line<V>(k);
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r) part[r] += a[r * w.down + k * w.right] * x;
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) sums[r] -= part[r];
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 6
    for (int q = 0; q < r; ++q) sums[r] -= a[r * w.down + (i + q) * w.right] * sums[q];
    if (!w.unit) sums[r] *= T(1) / a[r * w.down + (i + r) * w.right];
    w.template line<V>(i + r) = sums[r];
  }
}

// The same of complex numbers: a line of real parts, one of imaginary ones.
template <int R, class V, class T>
__attribute__((always_inline)) inline void some_complex_rows(const Way<T>& w, int64_t first, int64_t i) {
  V re[R], im[R];
  const T *a = w.data + i * w.down, sign = w.conjugated ? T(-1) : T(1);
  V u[R], v[R];  // what is to be subtracted
  const auto take = [&](int r, int64_t k, const V& x, const V& y) __attribute__((always_inline)) {
    const T c = a[r * w.down + k * w.right], d = sign * a[r * w.down + k * w.right + 1];
    u[r] += c * x, v[r] += c * y;
    u[r] -= d * y, v[r] += d * x;
  };
#pragma GCC unroll 3
  for (int r = 0; r < R; ++r) re[r] = w.template line<V>(i + r), im[r] = w.template imaginary<V>(i + r);
  for (int64_t k = first; k < i;) {
#pragma GCC unroll 3
    for (int r = 0; r < R; ++r) u[r] = v[r] = V{};
    for (const int64_t end = std::min(i, k + kTogether); k < end; ++k) {
      const V x = w.template line<V>(k), y = w.template imaginary<V>(k);
#pragma GCC unroll 3
      for (int r = 0; r < R; ++r) take(r, k, x, y);
    }
#pragma GCC unroll 3
    for (int r = 0; r < R; ++r) re[r] -= u[r], im[r] -= v[r];
  }
#pragma GCC unroll 3
  for (int r = 0; r < R; ++r) {
    u[r] = v[r] = V{};
#pragma GCC unroll 3
    for (int q = 0; q < r; ++q) take(r, i + q, re[q], im[q]);
    re[r] -= u[r], im[r] -= v[r];
    if (!w.unit) {
      const T* d = a + r * w.down + (i + r) * w.right;
      const std::complex<T> by = std::complex<T>(1) / std::complex<T>(d[0], sign * d[1]);
      const V x = re[r], y = im[r];
      re[r] = by.real() * x - by.imag() * y, im[r] = by.real() * y + by.imag() * x;
    }
    w.template line<V>(i + r) = re[r], w.template imaginary<V>(i + r) = im[r];
  }
}

// Rows [first, last). The few that do not fill a group come first, where they are shortest.
template <bool complex, class V, class T>
__attribute__((always_inline)) inline void rows_of(const Way<T>& w, int64_t first, int64_t last) {
  int64_t i = first;
  if constexpr (complex) {
    for (; (last - i) % 3; ++i) some_complex_rows<1, V>(w, first, i);
    for (; i < last; i += 3) some_complex_rows<3, V>(w, first, i);
  } else {
    for (; (last - i) % 6; ++i) some_rows<1, V>(w, first, i);
    for (; i < last; i += 6) some_rows<6, V>(w, first, i);
  }
}
#ifdef SHIM_WIDE_TARGET
template <bool complex, class T> SHIM_WIDE_TARGET void substitute_wide(const Way<T>& w, int64_t first, int64_t last) {
  rows_of<complex, typename VectorsOf<T>::Whole>(w, first, last);
}
#endif
template <bool complex, class T> SHIM_NARROW_CLONES void substitute_half(const Way<T>& w, int64_t first, int64_t last) {
  rows_of<complex, typename VectorsOf<T>::Half>(w, first, last);
}
template <bool complex, class T> void substitute(Way<T> w, int64_t first, int64_t last) {
#ifdef SHIM_WIDE_TARGET
  if (has_avx512()) return substitute_wide<complex>(w, first, last);
#endif
  substitute_half<complex>(w, first, last);
  w.lines += kLineBytes / 2 / int64_t(sizeof(T));
  substitute_half<complex>(w, first, last);
}

// x - l u, of complex numbers without regard for infinite parts.
template <class T> T less(T x, T l, T u) { return x - l * u; }
template <class T> std::complex<T> less(std::complex<T> x, std::complex<T> l, std::complex<T> u) {
  return {
      x.real() - (l.real() * u.real() - l.imag() * u.imag()), x.imag() - (l.real() * u.imag() + l.imag() * u.real())};
}

// The first place of what LAPACK measures as the largest.
template <class T> __attribute__((always_inline)) inline int64_t largest_of(const T* x, int64_t first, int64_t last) {
  constexpr int kLanes = 16;
  T lanes[kLanes] = {};
  int64_t i = first;
  for (; i + kLanes <= last; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] = std::abs(x[i + k]) > lanes[k] ? std::abs(x[i + k]) : lanes[k];
  for (; i < last; ++i) lanes[0] = std::abs(x[i]) > lanes[0] ? std::abs(x[i]) : lanes[0];
  const T most = *std::max_element(lanes, lanes + kLanes);
  for (i = first; i < last && !(std::abs(x[i]) == most);) ++i;
  return i < last ? i : first;
}
template <class T> int64_t largest_of(const std::complex<T>* x, int64_t first, int64_t last) {
  const auto size = [](std::complex<T> v) { return std::abs(v.real()) + std::abs(v.imag()); };
  int64_t best = first;
  for (int64_t i = first + 1; i < last; ++i)
    if (size(x[i]) > size(x[best])) best = i;
  return best;
}

constexpr int64_t kPanel = 8;  // columns that are eliminated among themselves before the rest takes all of them at once

template <class S> SHIM_MATH_CLONES int64_t eliminated(S* a, int64_t m, int64_t n, int32_t* pivots) {
  const int64_t k = std::min(m, n);
  int64_t zero = 0;
  for (int64_t first = 0; first < k; first += kPanel) {
    const int64_t end = std::min(k, first + kPanel);
    const S* l = a + first * m;
    for (int64_t j = first; j < end; ++j) {
      S* column = a + j * m;
      const int64_t best = largest_of(column, j, m);
      pivots[j] = int32_t(best + 1);
      if (column[best] == S(0)) {
        if (!zero) zero = j + 1;
        continue;
      }
      if (best != j)
        for (int64_t c = 0; c < n; ++c) std::swap(a[c * m + j], a[c * m + best]);
      const S head = column[j];
      for (int64_t i = j + 1; i < m; ++i) column[i] /= head;
      for (int64_t c = j + 1; c < end; ++c) {
        S *to = a + c * m, u = to[j];
#pragma GCC ivdep
        for (int64_t i = j + 1; i < m; ++i) to[i] = less(to[i], column[i], u);
      }
    }
    for (int64_t c = end; c < n; ++c) {
      S u[kPanel] = {}, *to = a + c * m;
      for (int64_t r = 0; r < end - first; ++r) {
        u[r] = to[first + r];
        for (int64_t q = 0; q < r; ++q) u[r] = less(u[r], l[q * m + first + r], u[q]);
        to[first + r] = u[r];
      }
      if (end - first < kPanel) continue;  // the last rows: nothing is below
#pragma GCC ivdep
      for (int64_t i = end; i < m; ++i) {
        S sum = less(less(S(0), l[i], u[0]), l[m + i], u[1]);
        sum = less(less(sum, l[2 * m + i], u[2]), l[3 * m + i], u[3]);
        sum = less(less(sum, l[4 * m + i], u[4]), l[5 * m + i], u[5]);
        to[i] += less(less(sum, l[6 * m + i], u[6]), l[7 * m + i], u[7]);
      }
    }
  }
  return zero;
}

}  // namespace

template <class S> int64_t eliminate(S* a, int64_t m, int64_t n, int32_t* pivots) {
  return eliminated(a, m, n, pivots);
}
template int64_t eliminate(float*, int64_t, int64_t, int32_t*);
template int64_t eliminate(double*, int64_t, int64_t, int32_t*);
template int64_t eliminate(std::complex<float>*, int64_t, int64_t, int32_t*);
template int64_t eliminate(std::complex<double>*, int64_t, int64_t, int32_t*);

template <class S>
void Columns<S>::read(const S* from, int64_t down, int64_t right, int64_t count, const int32_t* order) {
  std::fill_n(memory_.get(), rows_ * kParts, Line{});
  for (int64_t j = 0; j < count; ++j)
    for (int64_t i = 0; i < rows_; ++i) {
      const T* x = reinterpret_cast<const T*>(from + (order ? order[i] : i) * down + j * right);
      for (int64_t p = 0; p < kParts; ++p) line(i)[p * kLanes + j] = x[p];
    }
}

template <class S>
void Columns<S>::write(S* to, int64_t down, int64_t right, int64_t count, const int32_t* order) const {
  for (int64_t j = 0; j < count; ++j)
    for (int64_t i = 0; i < rows_; ++i) {
      T* x = reinterpret_cast<T*>(to + (order ? order[i] : i) * down + j * right);
      for (int64_t p = 0; p < kParts; ++p) x[p] = line(i)[p * kLanes + j];
    }
}

template <class S> void Columns<S>::read_identity(int64_t first) {
  std::fill_n(memory_.get(), rows_ * kParts, Line{});
  for (int64_t j = 0; j < std::min(kLanes, rows_ - first); ++j) line(first + j)[j] = T(1);
}

template <class S> void Columns<S>::write_lane(int64_t lane, int64_t first, S* to, int64_t step) const {
  for (int64_t i = first; i < rows_; ++i)
    for (int64_t p = 0; p < kParts; ++p) reinterpret_cast<T*>(to + (i - first) * step)[p] = line(i)[p * kLanes + lane];
}

template <class S> void Columns<S>::solve(const Triangle<S>& t, int64_t first) {
  const int64_t back = t.lower ? 1 : -1,
                end = t.lower ? 0 : rows_ - 1;  // an upper triangle is a lower one from its end
  const Way<T> w{reinterpret_cast<const T*>(t.data + end * (t.down + t.right)), back * t.down * kParts,
      back * t.right * kParts, line(end), back * kParts * kLanes, t.unit, t.conjugated};
  const int64_t from = t.lower ? first : 0, to = t.lower ? rows_ : rows_ - first;
  substitute<kParts == 2>(w, from, to);
}

template class Columns<float>;
template class Columns<double>;
template class Columns<std::complex<float>>;
template class Columns<std::complex<double>>;

}  // namespace shim
