#pragma once
#include "ops/special/temme.h"

namespace shim::special {

// The regularised incomplete gamma functions, P(a, x) or, where `upper`, Q(a, x), to about `small`. From the power series below the mean,
// from the continued fraction (by Lentz) above it, and near it, where both are slow, from Temme's uniform expansion (DLMF 8.12): the
// normal tail of eta, and a correction in powers of eta and of 1 / a. kTemme is the series' coefficients.
SHIM_FUNCTION double power_series(double a, double x, double small) {
  double term = 1 / a, total = term;
  for (int k = 1; k < 2000 && term > total * small; ++k) total += term *= x / (a + k);
  return total;
}
SHIM_FUNCTION double kept_apart(double v) { return fabs(v) < 1e-300 ? 1e-300 : v; }
SHIM_FUNCTION double continued_fraction(double a, double x, double small) {
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
}
SHIM_FUNCTION double near_diagonal(double a, double x, bool upper, double small) {
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
}
SHIM_FUNCTION double incomplete_gamma(double a, double x, bool upper, double small) {
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
}

}  // namespace shim::special
