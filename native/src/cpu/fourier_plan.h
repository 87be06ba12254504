#pragma once
// Transforms of one length, of several lines at once: element k of line l stands at [k * lanes + l], real and imaginary parts apart, so
// that the innermost loops run over lines (and, from the second pass on, over more) without a gap.
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "cpu/kernel_table.h"
#include "cpu/vectors.h"

namespace shim {
namespace {

template <class T> struct Split {  // complex numbers
  T *re, *im;
  Split at(int64_t i) const { return {re + i, im + i}; }
  Split swapped() const { return {im, re}; }  // of swapped parts the forward transform is the backward one, swapped
};

// One pass: of `n` points as `m` = n / Radix groups, `s` neighbours each. Numbers j m + p become Radix p + k, turned by (p k) / n.
// L: the type of the neighbours that are worked on together.
template <int Radix, class L, class T>
__attribute__((always_inline)) inline void fourier_lines(
    Split<T> x, Split<T> y, int64_t m, int64_t s, const T* cosines, const T* sines, int64_t step) {
  constexpr int64_t kWide = sizeof(L) / sizeof(T);
  for (int64_t p = 0; p < m; ++p) {
    T c[Radix], d[Radix];
    for (int k = 1; k < Radix; ++k) c[k] = cosines[p * k * step], d[k] = sines[p * k * step];
    const T *xr = x.re + p * s, *xi = x.im + p * s;
    T *yr = y.re + Radix * p * s, *yi = y.im + Radix * p * s;
    const int64_t j = m * s;
    for (int64_t q = 0; q < s; q += kWide) {
      L re[Radix], im[Radix];
#pragma GCC unroll 8
      for (int k = 0; k < Radix; ++k) load_vector(re[k], xr + k * j + q), load_vector(im[k], xi + k * j + q);
      const auto put = [&](int k, const L& u, const L& v) __attribute__((always_inline)) {
        const L a = k ? L(u * c[k] - v * d[k]) : u, b = k ? L(u * d[k] + v * c[k]) : v;
        store_vector(a, yr + k * s + q), store_vector(b, yi + k * s + q);
      };
      if constexpr (Radix == 2) {
        put(0, re[0] + re[1], im[0] + im[1]);
        put(1, re[0] - re[1], im[0] - im[1]);
      } else if constexpr (Radix == 3) {
        const L er = re[1] + re[2], ei = im[1] + im[2], fr = T(0.86602540378443864676) * (re[1] - re[2]),
                fi = T(0.86602540378443864676) * (im[1] - im[2]);
        const L gr = re[0] - T(0.5) * er, gi = im[0] - T(0.5) * ei;
        put(0, re[0] + er, im[0] + ei);
        put(1, gr + fi, gi - fr);
        put(2, gr - fi, gi + fr);
      } else if constexpr (Radix == 4) {
        const L er = re[0] + re[2], ei = im[0] + im[2], fr = re[0] - re[2], fi = im[0] - im[2];
        const L gr = re[1] + re[3], gi = im[1] + im[3], hr = re[1] - re[3], hi = im[1] - im[3];
        put(0, er + gr, ei + gi);
        put(1, fr + hi, fi - hr);
        put(2, er - gr, ei - gi);
        put(3, fr - hi, fi + hr);
      } else if constexpr (Radix == 8) {  // of four each, the odd ones turned by eighths
        constexpr T kHalf = T(0.70710678118654752440);
        const L ar = re[0] + re[4], ai = im[0] + im[4], br = re[0] - re[4], bi = im[0] - im[4];
        const L cr = re[2] + re[6], ci = im[2] + im[6], dr = re[2] - re[6], di = im[2] - im[6];
        const L er = re[1] + re[5], ei = im[1] + im[5], fr = re[1] - re[5], fi = im[1] - im[5];
        const L gr = re[3] + re[7], gi = im[3] + im[7], hr = re[3] - re[7], hi = im[3] - im[7];
        const L even0r = ar + cr, even0i = ai + ci, even2r = ar - cr, even2i = ai - ci, odd0r = er + gr,
                odd0i = ei + gi, odd2r = ei - gi, odd2i = gr - er;
        put(0, even0r + odd0r, even0i + odd0i);
        put(4, even0r - odd0r, even0i - odd0i);
        put(2, even2r + odd2r, even2i + odd2i);
        put(6, even2r - odd2r, even2i - odd2i);
        const L even1r = br + di, even1i = bi - dr, even3r = br - di, even3i = bi + dr;
        const L ur = fr + hi, ui = fi - hr, vr = fr - hi, vi = fi + hr;
        const L odd1r = kHalf * (ur + ui), odd1i = kHalf * (ui - ur), odd3r = kHalf * (vi - vr),
                odd3i = -kHalf * (vr + vi);
        put(1, even1r + odd1r, even1i + odd1i);
        put(5, even1r - odd1r, even1i - odd1i);
        put(3, even3r + odd3r, even3i + odd3i);
        put(7, even3r - odd3r, even3i - odd3i);
      } else {
        constexpr T kC1 = T(0.30901699437494742410), kC2 = T(-0.80901699437494742410), kS1 = T(0.95105651629515357212),
                    kS2 = T(0.58778525229247312917);
        const L er = re[1] + re[4], ei = im[1] + im[4], fr = re[1] - re[4], fi = im[1] - im[4];
        const L gr = re[2] + re[3], gi = im[2] + im[3], hr = re[2] - re[3], hi = im[2] - im[3];
        put(0, re[0] + er + gr, im[0] + ei + gi);
        const L ur = re[0] + kC1 * er + kC2 * gr, ui = im[0] + kC1 * ei + kC2 * gi, vr = kS1 * fr + kS2 * hr,
                vi = kS1 * fi + kS2 * hi;
        const L wr = re[0] + kC2 * er + kC1 * gr, wi = im[0] + kC2 * ei + kC1 * gi, zr = kS2 * fr - kS1 * hr,
                zi = kS2 * fi - kS1 * hi;
        put(1, ur + vi, ui - vr);
        put(2, wr + zi, wi - zr);
        put(3, wr - zi, wi + zr);
        put(4, ur - vi, ui + vr);
      }
    }
  }
}
#ifdef SHIM_WIDE_TARGET
template <int Radix, class T>
SHIM_WIDE_TARGET void fourier_pass_of_wide(
    Split<T> x, Split<T> y, int64_t m, int64_t s, const T* cosines, const T* sines, int64_t step) {
  fourier_lines<Radix, typename VectorsOf<T>::Whole>(x, y, m, s, cosines, sines, step);
}
#endif
template <int Radix, class T>
SHIM_MATH_CLONES void fourier_pass_of_narrow(
    Split<T> x, Split<T> y, int64_t m, int64_t s, const T* cosines, const T* sines, int64_t step) {
  if (s % int64_t(32 / sizeof(T)) == 0)
    fourier_lines<Radix, typename VectorsOf<T>::Half>(x, y, m, s, cosines, sines, step);
  else
    fourier_lines<Radix, T>(x, y, m, s, cosines, sines, step);
}
template <int Radix, class T>
void fourier_pass(Split<T> x, Split<T> y, int64_t m, int64_t s, const T* cosines, const T* sines, int64_t step) {
#ifdef SHIM_WIDE_TARGET
  if (s % int64_t(64 / sizeof(T)) == 0 && has_avx512())
    return fourier_pass_of_wide<Radix>(x, y, m, s, cosines, sines, step);
#endif
  fourier_pass_of_narrow<Radix>(x, y, m, s, cosines, sines, step);
}

// The same for any radix, whose own turns are every (n / radix)-th of the table of n.
template <class T>
SHIM_MATH_CLONES void fourier_pass_of(int64_t radix, Split<T> x, Split<T> y, int64_t m, int64_t s, const T* cosines,
    const T* sines, int64_t step, int64_t n) {
  for (int64_t p = 0; p < m; ++p)
    for (int64_t k = 0; k < radix; ++k) {
      T *yr = y.re + (radix * p + k) * s, *yi = y.im + (radix * p + k) * s;
      for (int64_t q = 0; q < s; ++q) yr[q] = yi[q] = 0;
      for (int64_t j = 0; j < radix; ++j) {
        const int64_t turn = (j * k % radix * (n / radix) + p * k * step) % n;
        const T c = cosines[turn], d = sines[turn], *xr = x.re + (p + m * j) * s, *xi = x.im + (p + m * j) * s;
#pragma GCC ivdep
        for (int64_t q = 0; q < s; ++q) yr[q] += xr[q] * c - xi[q] * d, yi[q] += xr[q] * d + xi[q] * c;
      }
    }
}

template <class T>
SHIM_MATH_CLONES void times(Split<T> x, Split<T> y, const T* c, const T* d, int64_t n,
    int64_t s) {  // y = x (c + i d), one factor for s neighbours
  for (int64_t k = 0; k < n; ++k)
    for (int64_t q = k * s; q < (k + 1) * s; ++q) {
      const T re = x.re[q], im = x.im[q];
      y.re[q] = re * c[k] - im * d[k];
      y.im[q] = re * d[k] + im * c[k];
    }
}

template <class T> class FourierPlan {
 public:
  __attribute__((cold)) explicit FourierPlan(int64_t n) : n_(n) {  // cold: made once a length, and compiled for size
    int64_t left = n;
    for (int64_t r : {8, 4, 2, 3, 5})
      for (; left % r == 0; left /= r) radices_.push_back(r);
    for (int64_t r = 7; left > 1; r += 2)
      for (; left % r == 0; left /= r) radices_.push_back(r);
    turns(n + 1, 2 * n, [](int64_t k) { return k; }, &half_cosines_, &half_sines_);
    if (!radices_.empty() && radices_.back() > kMostRadix)
      make_chirp();
    else
      turns(n, n, [](int64_t k) { return k; }, &cosines_, &sines_);
  }
  int64_t room() const { return longer_ ? 2 * longer_->n_ : n_; }  // numbers a line needs in x, and in y
  const T* cosines() const { return cosines_.data(); }
  const T* sines() const { return sines_.data(); }
  // Of -pi k / n, k up to n: what parts the transforms of 2 n real numbers.
  const T* half_cosines() const { return half_cosines_.data(); }
  const T* half_sines() const { return half_sines_.data(); }

  // Forward; where the result is, x or y. Both are overwritten.
  Split<T> run(Split<T> x, Split<T> y, int64_t lanes) const {
    if (longer_) return run_chirp(x, y, lanes);
    int64_t left = n_, s = lanes;
    for (int64_t r : radices_) {
      const int64_t m = left / r, step = n_ / left;
      if (r == 8)
        fourier_pass<8>(x, y, m, s, cosines(), sines(), step);
      else if (r == 4)
        fourier_pass<4>(x, y, m, s, cosines(), sines(), step);
      else if (r == 2)
        fourier_pass<2>(x, y, m, s, cosines(), sines(), step);
      else if (r == 3)
        fourier_pass<3>(x, y, m, s, cosines(), sines(), step);
      else if (r == 5)
        fourier_pass<5>(x, y, m, s, cosines(), sines(), step);
      else
        fourier_pass_of(r, x, y, m, s, cosines(), sines(), step, n_);
      std::swap(x, y);
      left = m;
      s *= r;
    }
    return x;
  }

 private:
  static constexpr int64_t kMostRadix = 50;  // beyond, a product of chirps is faster

  template <class F>
  __attribute__((cold)) static void turns(
      int64_t count, int64_t parts, F&& turn, std::vector<T>* c, std::vector<T>* s) {
    c->resize(size_t(count)), s->resize(size_t(count));
    for (int64_t k = 0; k < count; ++k) {
      const double angle = -2 * std::numbers::pi * double(turn(k) % parts) / double(parts);
      (*c)[size_t(k)] = T(std::cos(angle)), (*s)[size_t(k)] = T(std::sin(angle));
    }
  }

  // Bluestein's way: j k = (j^2 + k^2 - (k - j)^2) / 2 makes a convolution of the transform.
  __attribute__((cold)) void make_chirp() {
    int64_t m = 1;
    while (m < 2 * n_ - 1) m *= 2;
    longer_ = std::make_unique<FourierPlan>(m);
    turns(n_, 2 * n_, [](int64_t k) { return k * k; }, &cosines_, &sines_);
    const size_t room = size_t(m);
    std::vector<T> a(room), b(room), c(room), d(room);
    for (int64_t k = 0; k < n_; ++k) {
      const size_t back = size_t((m - k) % m);
      a[size_t(k)] = a[back] = cosines_[size_t(k)] / T(m), b[size_t(k)] = b[back] = -sines_[size_t(k)] / T(m);
    }
    const Split<T> r = longer_->run({a.data(), b.data()}, {c.data(), d.data()}, 1);
    chirp_re_.assign(r.re, r.re + m), chirp_im_.assign(r.im, r.im + m);
  }

  __attribute__((noinline)) Split<T> run_chirp(Split<T> x, Split<T> y, int64_t lanes) const {
    const int64_t m = longer_->n_;
    times(x, x, cosines(), sines(), n_, lanes);
    std::fill(x.re + n_ * lanes, x.re + m * lanes, T(0)), std::fill(x.im + n_ * lanes, x.im + m * lanes, T(0));
    Split<T> r = longer_->run(x, y, lanes);
    times(r, r, chirp_re_.data(), chirp_im_.data(), m, lanes);
    r = longer_->run(r.swapped(), (r.re == x.re ? y : x).swapped(), lanes).swapped();
    times(r, r, cosines(), sines(), n_, lanes);
    return r;
  }

  int64_t n_;
  std::vector<int64_t> radices_;
  std::vector<T> cosines_, sines_;  // of -2 pi k / n; of a product of chirps, of -pi k^2 / n
  std::vector<T> half_cosines_, half_sines_;
  std::unique_ptr<FourierPlan> longer_;
  std::vector<T> chirp_re_, chirp_im_;
};

}  // namespace
}  // namespace shim
