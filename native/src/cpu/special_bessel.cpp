// Bessel's functions: power series where they keep their digits, Miller's recurrence between, asymptotic expansions far out.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "cpu/special_functions.h"
#include "cpu/special_tables.h"

namespace shim::special {
namespace {

constexpr double kPi = 3.14159265358979323846, kEuler = 0.57721566490153286061;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEnough = 1e-17;  // what a series' next term is to its sum when it ends
constexpr double kFar = 25;        // from here Hankel's expansion is exact: its smallest term is e^(-2x)

// J or (second) Y for large x.
double hankel(double x, int order, bool second) {
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 30; ++k) {
    const double next = term * ((4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8.0 * k)) / x;
    if (std::fabs(next) > std::fabs(term)) break;  // it diverges from here
    term = next;
    const int sign = k % 4 < 2 ? 1 : -1;
    (k % 2 ? odd : even) += sign * term;
  }
  const double sine = std::sin(x), cosine = std::cos(x);
  const double c = order ? sine - cosine : cosine + sine, s = order ? -(sine + cosine) : sine - cosine;
  return (second ? even * s + odd * c : even * c - odd * s) / std::sqrt(kPi * x);
}

// J of all orders up to kMost at 0 < x <= kFar: the recurrence downwards, where it is stable, scaled by 1 = J0 + 2 (J2 + J4 + ...).
constexpr int kMost = 72;
void all_orders(double x, double* j) {
  j[kMost] = 0;
  j[kMost - 1] = 1e-250;
  double sum = 0;
  for (int n = kMost - 1; n > 0; --n) {
    j[n - 1] = 2 * n / x * j[n] - j[n + 1];
    if (std::fabs(j[n - 1]) > 1e200) {
      for (int i = n - 1; i < kMost; ++i) j[i] *= 1e-200;
      sum *= 1e-200;
    }
    if (n % 2 == 1) sum += n == 1 ? j[0] : 2 * j[n - 1];
  }
  for (int n = 0; n < kMost; ++n) j[n] /= sum;
}

// Series in z = x^2 / 4 for orders 0 and 1; made once, since a division takes as long as several terms.
struct Series {
  static constexpr int kTerms = 14;
  double j[2][kTerms], i[2][kTerms], k[2][kTerms];  // of J, of I and of what K adds to I's logarithm: harmonic numbers
  constexpr Series() : j{}, i{}, k{} {
    for (int order = 0; order < 2; ++order) {
      double term = 1, harmonic = -kEuler;
      for (int n = 0; n < kTerms; ++n) {
        if (n) term /= double(n) * (n + order), harmonic += 1.0 / n;
        i[order][n] = term;
        j[order][n] = n % 2 ? -term : term;
        k[order][n] = term * (order ? 2 * harmonic + 1.0 / (n + 1) : harmonic);
      }
    }
  }
};
constexpr Series kSeries;
double sum_of(const double (&terms)[Series::kTerms], double z, int count) {
  double sum = terms[count - 1];
  for (int n = count - 2; n >= 0; --n) sum = sum * z + terms[n];
  return sum;
}

double power_series_j(double x, int order) { return (order ? x / 2 : 1) * sum_of(kSeries.j[order], x * x / 4, 10); }

}  // namespace

double bessel_j(double x, int order) {
  if (!std::isfinite(x)) return kNan;  // at infinity too, as PyTorch has it
  const double size = std::fabs(x), sign = order && x < 0 ? -1 : 1;
  if (size < 1) return power_series_j(x, order);
  if (size > kFar) return sign * hankel(size, order, false);
#if defined(__GLIBC__)
  return order ? ::j1(x) : ::j0(x);
#endif
  double j[kMost + 1];
  all_orders(size, j);
  return sign * j[order];
}

double bessel_y(double x, int order) {
  if (x == 0) return -kInf;
  if (!(x > 0) || !std::isfinite(x)) return kNan;
  if (x > kFar) return hankel(x, order, true);
#if defined(__GLIBC__)
  return order ? ::y1(x) : ::y0(x);
#endif
  double j[kMost + 1] = {}, tail = 0;  // Neumann's series
  if (x < 0.25) {                      // the recurrence would leave the range of numbers
    for (int n = 0; n < 12; ++n) {
      double term = std::pow(x / 2, n) / std::tgamma(n + 1.0);
      for (int k = 0; k < 8; ++k, term *= -x * x / (4.0 * k * (k + n))) j[n] += term;
    }
  } else {
    all_orders(x, j);
  }
  for (int k = 1; 2 * k + order < kMost; ++k)
    tail += (k % 2 ? -1 : 1) * j[2 * k + order] * (order ? (1.0 + 2 * k) / (k * (1.0 + k)) : 2.0 / k);
  const double log = std::log(x / 2) + kEuler - order;
  return (2 * (log * j[order] - tail) - (order ? 2 / x * j[0] : 0)) / kPi;
}

double modified_i(double x, int order, bool scaled) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x), sign = order && x < 0 ? -1 : 1;
  if (std::isinf(x)) return scaled ? 0 * sign : sign * kInf;
  if (size < 30) {
    const double quarter = size * size / 4;
    double term = order ? size / 2 : 1, total = term;
    for (int k = 1; k < 90 && term > total * kEnough; ++k) total += term *= quarter / (double(k) * (k + order));
    return sign * (scaled ? total * std::exp(-size) : total);
  }
  const double mu = 4.0 * order * order;
  double term = 1, total = 1;
  for (int k = 1; k < 20; ++k) total += term *= -(mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * size);
  total /= std::sqrt(2 * kPi * size);
  return sign * (scaled ? total : total * std::exp(size));
}

double modified_k(double x, int order, bool scaled) {
  if (std::isnan(x)) return x;
  if (x == 0) return kInf;
  if (x < 0) return kNan;
  if (std::isinf(x)) return 0;
  if (x <= 2) {
    const double quarter = x * x / 4, log = std::log(x / 2), total = sum_of(kSeries.k[order], quarter, Series::kTerms);
    const double i = (order ? x / 2 : 1) * sum_of(kSeries.i[order], quarter, Series::kTerms),
                 found = order ? 1 / x + log * i - x / 4 * total : total - log * i;
    return scaled ? found * std::exp(x) : found;
  }
  // The trapezoidal rule on the integral of e^(-x cosh t) cosh(order t), which converges exponentially; e^-45 of the peak is left out.
  const int count = 24;
  const double step = 2 * std::asinh(std::sqrt(22.5 / x)) / count;
  double total = 0.5;
  for (int k = 1; k <= count; ++k) {
    const double half = std::sinh(k * step / 2), part = std::exp(-2 * x * half * half);
    total += order ? part * (1 + 2 * half * half) : part;
  }
  return scaled ? total * step : total * step * std::exp(-x);
}

// Its power series near zero, elsewhere e^-zeta / (2 sqrt(pi) z^(1/4)) E[(1 + t / 2 zeta)^(-1/6)], zeta = 2/3 z^(3/2).
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x > 103.892) return 0;
  if (std::fabs(x) < 2) {
    const double cube = x * x * x;
    double even = 1, odd = x, f = even, g = odd;
    static constexpr auto kParts = [] {  // a division takes as long as several terms
      std::array<double, 40> parts{};
      for (int k = 1; k < 20; ++k)
        parts[size_t(2 * k)] = 1 / ((3 * k - 1) * (3.0 * k)), parts[size_t(2 * k + 1)] = 1 / (3.0 * k * (3 * k + 1));
      return parts;
    }();
    for (int k = 1; k < 20; ++k) {
      f += even *= cube * kParts[size_t(2 * k)];
      g += odd *= cube * kParts[size_t(2 * k + 1)];
    }
    return 0.355028053887817239 * f - 0.258819403792806798 * g;
  }
  if (x > 0) {
    const double zeta = 2.0 / 3 * x * std::sqrt(x);
    double mean = 0;
    for (int i = 0; i < kAiryNodes; ++i) mean += kAiryWeight[i] * std::pow(1 + kAiryNode[i] / (2 * zeta), -1.0 / 6);
    return std::exp(-zeta) * mean / (2 * std::sqrt(kPi) * std::sqrt(std::sqrt(x)));
  }
  // Ai(-x) = 2 Re(e^(i pi / 3) Ai(x e^(i pi / 3))), where zeta is imaginary.
  const std::complex<double> turn(0.5, std::sqrt(0.75));
  const double size = 2.0 / 3 * -x * std::sqrt(-x);
  std::complex<double> mean = 0;
  for (int i = 0; i < kAiryNodes; ++i)
    mean += kAiryWeight[i] * std::pow(std::complex<double>(1, -kAiryNode[i] / (2 * size)), -1.0 / 6);
  const std::complex<double> value = std::polar(1.0, -size) * mean / (2 * std::sqrt(kPi) * std::pow(turn * -x, 0.25));
  return 2 * (turn * value).real();
}

}  // namespace shim::special
