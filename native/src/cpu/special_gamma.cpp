// Incomplete gamma functions, Hurwitz's zeta, and functions of the normal distribution.
#include <cmath>
#include <limits>

#include "cpu/special_functions.h"
#include "ops/special/hurwitz_zeta.h"
#include "ops/special/incomplete_gamma.h"

namespace shim::special {
namespace {

constexpr double kPi = 3.14159265358979323846, kRootHalf = 0.70710678118654752440;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double gamma_incomplete(double a, double x, bool upper) { return incomplete_gamma(a, x, upper, 1e-17); }

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
template <size_t n> double quotient(double x, const double (&above)[n], const double (&below)[n]) {
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
  double x =
      half < 1e-200 ? -t : quotient(t, {0.0, 0.010328, 0.802853, 2.515517}, {0.001308, 0.189269, 1.432788, 1.0}) - t;
  if (half > 1e-200) {  // each step has three times the digits of the one before, of three
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
