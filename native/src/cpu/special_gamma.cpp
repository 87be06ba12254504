// Incomplete gamma functions, Hurwitz's zeta, and functions of the normal distribution.
#include <cmath>
#include <limits>

#include "cpu/special_functions.h"
#include "cpu/special_tables.h"
#include "cpu/special_zeta.h"

namespace shim::special {
namespace {

constexpr double kPi = 3.14159265358979323846, kRootHalf = 0.70710678118654752440;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMost = 2000;                     // steps of a series or a fraction

double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign;
  return lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

double lower_series(double p, double z) {
  double term = 1 / p, total = term;
  for (int k = 1; k < kMost && term > total * 1e-17; ++k) total += term *= z / (p + k);
  return total;
}

// Lentz's continued fraction.
double upper_fraction(double p, double z) {
  const auto safe = [](double v) { return std::fabs(v) < 1e-300 ? 1e-300 : v; };
  double b = z + 1 - p, c = 1e300, d = 1 / safe(b), h = d;
  for (int k = 1; k < kMost; ++k) {
    const double n = -k * (k - p);
    b += 2;
    d = 1 / safe(n * d + b);
    c = safe(b + n / c);
    const double step = d * c;
    h *= step;
    if (std::fabs(step - 1) <= 1e-16) break;
  }
  return h;
}

// Temme's uniform expansion (DLMF 8.12): the normal tail of eta, and a correction in powers of eta and of 1 / p.
double near_diagonal(double p, double z, bool upper) {
  const double mu = (z - p) / p;
  const double eta = std::copysign(std::sqrt(std::fmax(2 * (mu - std::log1p(mu)), 0)), mu);
  double total = 0, scale = 1;
  for (int k = 0; k < kTemmeRows; ++k, scale /= p) {
    double inner = 0;
    for (int n = kTemmeColumns - 1; n >= 0; --n) inner = inner * eta + kTemme[k][n];
    total += inner * scale;
  }
  const double rest = std::exp(-0.5 * p * eta * eta) / std::sqrt(2 * kPi * p) * total;
  const double half = 0.5 * std::erfc((upper ? eta : -eta) * std::sqrt(p / 2));
  return upper ? half + rest : half - rest;
}

}  // namespace

double gamma_incomplete(double a, double x, bool upper) {
  const double one = upper ? 0 : 1;
  if (!(a > 0 && x > 0 && std::isfinite(a) && std::isfinite(x))) {
    if ((a == 0 && x > 0) || (std::isinf(x) && x > 0 && std::isfinite(a) && a > 0)) return one;
    return (x == 0 && a > 0) || (a == kInf && std::isfinite(x) && x >= 0) ? 1 - one : kNan;
  }
  const double off = std::fabs(x - a) / a;
  if ((a > 20 && a < 200 && off < 0.3) || (a > 200 && off < 4.5 / std::sqrt(a))) return near_diagonal(a, x, upper);
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1) {
    const double low = front * lower_series(a, x);
    return upper ? 1 - low : low;
  }
  const double high = front * upper_fraction(a, x);
  return upper ? high : 1 - high;
}

double zeta(double s, double q) { return hurwitz_zeta(s, q); }

double erfcx(double x) {
  if (x < -26.7) return kInf;
  if (!(x >= 20)) return std::exp(x * x) * std::erfc(x);
  double term = 1, total = 1;
  for (int k = 1; k < 10; ++k) total += term *= -(2 * k - 1) / (2 * x * x);
  return total / (x * std::sqrt(kPi));
}

double log_ndtr(double x) {
  return x < -1 ? std::log(erfcx(-x * kRootHalf) / 2) - x * x / 2 : std::log1p(-std::erfc(x * kRootHalf) / 2);
}

// A quotient of polynomials, highest power first.
template <size_t n>
double quotient(double x, const double (&above)[n], const double (&below)[n]) {
  double a = above[0], b = below[0];
  for (size_t i = 1; i < n; ++i) a = a * x + above[i], b = b * x + below[i];
  return a / b;
}

// From a first guess, Hastings' rational one, Halley's steps; far out in the tail Newton's on its logarithm.
double ndtri(double p) {
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (!(p > 0 && p < 1)) return kNan;
  if (p == 0.5) return 0;
  const double half = p < 0.5 ? p : 1 - p, log = std::log(half);
  const double t = std::sqrt(-2 * log);
  double x = half < 1e-200 ? -t : quotient(t, {0.0, 0.010328, 0.802853, 2.515517}, {0.001308, 0.189269, 1.432788, 1.0}) - t;
  if (half > 1e-200) {                          // each step has three times the digits of the one before, of three
    for (int i = 0; i < 2; ++i) {
      const double u = (0.5 * std::erfc(-x * std::sqrt(0.5)) - half) * std::sqrt(2 * kPi) * std::exp(0.5 * x * x);
      x -= u / (1 + 0.5 * x * u);
    }
    return p > 0.5 ? -x : x;
  }
  for (int i = 0; i < 12; ++i) {
    const double at = log_ndtr(x), slope = std::exp(-0.5 * x * x - at) / std::sqrt(2 * kPi), step = (at - log) / slope;
    x -= step;
    if (std::fabs(step) < 1e-15 * std::fabs(x) + 1e-300) break;
  }
  return p > 0.5 ? -x : x;
}

}  // namespace shim::special
