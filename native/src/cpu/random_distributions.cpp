// Counts and gamma numbers, each with parameters of its own, by the methods that PyTorch's CPU generator draws them with: the
// same uniform and normal numbers in the same order.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/random.h"

namespace shim {
namespace {

// Hörmann's transformed rejection with a squeeze (1993): k = floor((2 a / (1/2 - |u|) + b) u + c) of a uniform u from -1/2 to 1/2 is near
// the distribution wanted. In the middle nearly all of them are kept at once, where v is below `squeeze`; else accepts(k, v, edge, slope)
// decides, `edge` how far u is from the ends and `slope` the derivative that k has there.
template <class Accepts>
double transformed_rejection(double a, double b, double c, double squeeze, Mersenne& source, Accepts&& accepts) {
  for (;;) {
    const double u = draw_uniform(source) - 0.5, v = draw_uniform(source), edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / edge + b) * u + c);
    if ((edge >= 0.07 && v <= squeeze) || accepts(k, v, edge, a / (edge * edge) + b)) return k;
  }
}

// --- Poisson's distribution ---------------------------------------------------------------------------------------------------

// Hörmann's PTRS: v against the density, rate^k e^-rate / k!.
double many_events(double rate, Mersenne& source) {
  const double b = 0.931 + 2.53 * std::sqrt(rate), inverse_alpha = 1.1239 + 1.1328 / (b - 3.4),
               log_rate = std::log(rate);
  const auto accepts = [=](double k, double v, double edge, double slope) {
    if (k < 0 || (edge < 0.013 && v > edge)) return false;
    return std::log(v * inverse_alpha / slope) <= -rate + k * log_rate - std::lgamma(k + 1);
  };
  return transformed_rejection(-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2), source, accepts);
}

double poisson(double rate, Mersenne& source) {
  CHECK(Kind::Runtime, rate >= 0, "invalid Poisson rate, expected rate to be non-negative");
  if (rate == 0) return 0;
  if (rate >= 10) return many_events(rate, source);
  const double end = std::exp(-rate);
  double left = 1, count = 0;
  while ((left *= draw_uniform(source)) > end) ++count;
  return count;
}

// --- the binomial distribution ------------------------------------------------------------------------------------------------

// log k! less its Stirling approximation.
double stirling_tail(double k) {
  static const std::array<double, 10> first = [] {
    std::array<double, 10> tails{};
    long double factorial = 1;
    for (int i = 0; i < 10; ++i) {
      if (i) factorial *= i;
      const long double n = i + 1;
      tails[size_t(i)] =
          double(std::log(factorial) -
                 ((n - 0.5L) * std::log(n) - n + 0.5L * std::log(2 * 3.141592653589793238462643383279502884L)));
    }
    return tails;
  }();
  if (k <= 9) return first[size_t(k)];
  const double n = k + 1, square = n * n;
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / n;
}

// Hörmann's BTRS: v against the density over that of the mode, both by Stirling's approximation.
template <class T> T many_trials(T count, T prob, Mersenne& source) {
  const double deviation = std::sqrt(count * prob * (1 - prob)), odds = prob / (1 - prob),
               mode = std::floor((count + 1) * prob);
  const double b = 1.15 + 2.53 * deviation, alpha = (2.83 + 5.1 / b) * deviation;
  const auto accepts = [=](double drawn, double v, double, double slope) {
    const T k = T(drawn);
    if (k < 0 || k > count) return false;
    const double failures = count - k + 1, at_mode = count - mode + 1;
    const double powers = (mode + 0.5) * std::log((mode + 1) / (odds * at_mode)) +
                          (count + 1) * std::log(at_mode / failures) + (k + 0.5) * std::log(odds * failures / (k + 1));
    const double tails =
        stirling_tail(mode) + stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k);
    return std::log(v * alpha / slope) <= powers + tails;
  };
  return T(transformed_rejection(
      -0.0873 + 0.0248 * b + 0.01 * prob, b, count * prob + 0.5, 0.92 - 4.2 / b, source, accepts));
}

// Trials up to each success are geometrically distributed.
template <class T> T few_trials(T count, T prob, Mersenne& source) {
  const double failing = std::log1p(-prob);
  double trials = 0;
  for (T found = 0;; ++found) {
    trials += std::ceil(std::log(draw_uniform(source)) / failing);
    if (trials > count) return found;
  }
}

template <class T> T binomial(T count, T prob, Mersenne& source) {
  if (std::isnan(count) || std::isnan(prob)) return std::numeric_limits<T>::quiet_NaN();
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  const bool less = prob <= T(0.5);
  const T p = less ? prob : T(1) - prob;
  const T found = count * p >= 10 ? many_trials(count, p, source) : few_trials(count, p, source);
  return less ? found : count - found;
}

// --- the gamma distribution ---------------------------------------------------------------------------------------------------

// Marsaglia and Tsang (2000), of a shape from one on, times `scale`: d (1 + c x)^3 of a normal x, accepted by a squeeze or by the density.
// PyTorch has 1/3 and 0.0331 in float32.
template <class T> double cubed_normal(T shape, double scale, Mersenne& source) {
  const double d = shape - T(1.0f / 3.0f), c = 1 / std::sqrt(9 * d);
  if (std::isnan(c)) return 0;
  for (;;) {
    const double x = draw_normal(source), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = 1 - draw_uniform(source), xx = x * x;
    if (u < 1 - 0.0331f * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// T is what the shape is counted in. Below one: a number of the next shape, times a uniform one to the power 1 / shape.
template <class T> double gamma(T shape, Mersenne& source) {
  if (shape == 0) return 0;
  if (!(shape < 1)) return cubed_normal(shape, 1, source);
  const double scale = std::pow(1 - draw_uniform(source), double(1 / shape));
  return cubed_normal(T(shape + 1), scale, source);
}

}  // namespace

void fill_poisson(const Tensor& out, const Tensor& rate, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) {
    const T* r = rate->data_as<T>();
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = T(poisson(double(r[i]), source));
  });
}

void fill_gamma(const Tensor& out, const Tensor& shape, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) {
    const T* a = shape->data_as<T>();
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = std::max(std::numeric_limits<T>::min(), T(gamma(a[i], source)));
  });
}

void fill_binomial(const Tensor& out, const Tensor& count, const Tensor& prob, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) {
    const T *n = count->data_as<T>(), *p = prob->data_as<T>();
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = binomial(n[i], p[i], source);
  });
}

}  // namespace shim
