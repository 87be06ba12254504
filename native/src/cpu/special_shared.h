#pragma once
// Special functions of one text for the host and, as strings, for NVRTC.
#include <cmath>

#include "cpu/special_tables.h"

namespace shim::special {

using std::copysign, std::erfc, std::exp, std::fabs, std::floor, std::log, std::log1p, std::pow, std::sqrt;

inline double log_gamma(double x) {  // on CUDA lgamma
#if defined(__GLIBC__)
  int sign;
  return lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

#define SHIM_HOST_AND_CUDA(text, ...) __VA_ARGS__ inline constexpr const char* text = #__VA_ARGS__ "\n"
#define __device__
// Hurwitz's zeta, the sum of (q + k)^-s over k >= 0. hurwitz_sum, of q > 0: the first terms, then the rest by Euler and Maclaurin (DLMF
// 2.10.1): its integral, half a term, and a series of B_2j / (2j)! times the term's derivatives of odd order, nested. So many of each
// leave an error below the rounding of T for any s. hurwitz_zeta: below zero s is whole, and the terms are those of a sum that rises
// from the place next to zero on either side.
SHIM_HOST_AND_CUDA(
    kZetaSource,
    template <class T> __device__ inline T hurwitz_sum(T s, T q) {
      constexpr bool wide = sizeof(T) == 8;
      constexpr int terms = wide ? 10 : 5, last = wide ? 7 : 3;
      constexpr double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
          -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000};
      T sum = 0;
      for (int k = 0; k < terms; ++k) sum += pow(q + T(k), -s);
      const T at = q + T(terms), rest = pow(at, T(1) - s);
      if (rest == T(0)) return sum;
      T series = T(bernoulli[last]);
      for (int j = last; j > 0; --j)
        series = T(bernoulli[j - 1]) + series * ((s + T(2 * j - 1)) / at) * ((s + T(2 * j)) / at);
      return sum + rest * (T(1) / (s - T(1)) + (T(0.5) + series * s / at) / at);
    } template <class T>
    __device__ inline T hurwitz_zeta(T s, T q) {
      const T infinite = -log(T(0)), none = infinite - infinite;
      if (s <= T(1)) return s == T(1) ? infinite : none;
      if (q > T(0)) return q == infinite ? none : hurwitz_sum(s, q);
      if (q == floor(q)) return infinite;
      if (s != floor(s)) return none;
      const T below = hurwitz_sum(s, -q - floor(-q)) - hurwitz_sum(s, T(1) - q);
      return hurwitz_sum(s, q - floor(q)) + (s / T(2) == floor(s / T(2)) ? below : -below);
    });

// The regularised incomplete gamma functions, P(a, x) or, where `upper`, Q(a, x), to about `small`. From the power series below the mean,
// from the continued fraction (by Lentz) above it, and near it, where both are slow, from Temme's uniform expansion (DLMF 8.12): the
// normal tail of eta, and a correction in powers of eta and of 1 / a. kTemme and log_gamma stand before this text.
SHIM_HOST_AND_CUDA(
    kIncompleteGammaSource,
    __device__ inline double power_series(double a, double x, double small) {
      double term = 1 / a, total = term;
      for (int k = 1; k < 2000 && term > total * small; ++k) total += term *= x / (a + k);
      return total;
    } __device__ inline double kept_apart(double v) {
      return fabs(v) < 1e-300 ? 1e-300 : v;
    } __device__ inline double continued_fraction(double a, double x, double small) {
      double b = x + 1 - a, c = 1e300, d = 1 / kept_apart(b), h = d, step = 0;
      for (int k = 1; k < 2000 && fabs(step - 1) > 10 * small; ++k) {
        const double n = -k * (k - a);
        b += 2;
        d = 1 / kept_apart(n * d + b);
        c = kept_apart(b + n / c);
        step = d * c;
        h *= step;
      }
      return h;
    } __device__ inline double near_diagonal(double a, double x, bool upper, double small) {
      const double mu = (x - a) / a, square = 2 * (mu - log1p(mu)), eta = copysign(sqrt(square > 0 ? square : 0.0), mu);
      double total = 0, scale = 1;
      for (int k = 0; k < kTemmeRows && scale > small; ++k, scale /= a) {
        double inner = 0;
        for (int n = kTemmeColumns - 1; n >= 0; --n) inner = inner * eta + kTemme[k][n];
        total += inner * scale;
      }
      const double rest = exp(-0.5 * a * eta * eta) / sqrt(6.28318530717958647693 * a) * total,
                   half = 0.5 * erfc((upper ? eta : -eta) * sqrt(a / 2));
      return upper ? half + rest : half - rest;
    } __device__ inline double incomplete_gamma(double a, double x, bool upper, double small) {
      const double infinite = -log(0.0), one = upper ? 0 : 1;
      if (!(a > 0 && x > 0 && a < infinite && x < infinite)) {
        if ((a == 0 && x > 0) || (x == infinite && a > 0 && a < infinite)) return one;
        return (x == 0 && a > 0) || (a == infinite && x >= 0 && x < infinite) ? 1 - one : infinite - infinite;
      }
      if (a > 20 && fabs(x - a) < 0.3 * a) return near_diagonal(a, x, upper, small);
      const bool above = x >= a + 1;
      const double found =
          exp(a * log(x) - x - log_gamma(a)) * (above ? continued_fraction(a, x, small) : power_series(a, x, small));
      return above == upper ? found : 1 - found;
    });
#undef __device__
#undef SHIM_HOST_AND_CUDA

}  // namespace shim::special
