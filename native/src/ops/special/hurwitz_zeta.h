#pragma once
#include "ops/special/host_device.h"

namespace shim::special {

// Hurwitz's zeta, the sum of (q + k)^-s over k >= 0. hurwitz_sum, of q > 0: the first terms, then the rest by Euler and Maclaurin (DLMF
// 2.10.1): its integral, half a term, and a series of B_2j / (2j)! times the term's derivatives of odd order, nested. So many of each
// leave an error below the rounding of T for any s. hurwitz_zeta: below zero s is whole, and the terms are those of a sum that rises
// from the place next to zero on either side.
template <class T> SHIM_FUNCTION T hurwitz_sum(T s, T q) {
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
}
template <class T> SHIM_FUNCTION T hurwitz_zeta(T s, T q) {
  const T infinite = -log(T(0)), none = infinite - infinite;
  if (s <= T(1)) return s == T(1) ? infinite : none;
  if (q > T(0)) return q == infinite ? none : hurwitz_sum(s, q);
  if (q == floor(q)) return infinite;
  if (s != floor(s)) return none;
  const T below = hurwitz_sum(s, -q - floor(-q)) - hurwitz_sum(s, T(1) - q);
  return hurwitz_sum(s, q - floor(q)) + (s / T(2) == floor(s / T(2)) ? below : -below);
}

}  // namespace shim::special
