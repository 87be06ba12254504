// Counts and gamma numbers, each with parameters of its own, by the methods that PyTorch's CPU generator draws them with: the
// same uniform and normal numbers in the same order.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/draws.h"

namespace shim {
namespace {

// --- Poisson's distribution ---------------------------------------------------------------------------------------------------

// The transformed rejection method with a squeeze (Hörmann 1993, PTRS).
double many_events(double rate, Mersenne& source) {
  const double root = std::sqrt(rate), log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), within = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draw_uniform(source) - 0.5, v = draw_uniform(source), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= within) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
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
      tails[size_t(i)] = double(std::log(factorial) - ((n - 0.5L) * std::log(n) - n + 0.5L * std::log(2 * 3.141592653589793238462643383279502884L)));
    }
    return tails;
  }();
  if (k <= 9) return first[size_t(k)];
  const double n = k + 1, square = n * n;
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / n;
}

// The transformed rejection method (Hörmann 1993, BTRS).
template <class T>
T many_trials(T count, T prob, Mersenne& source) {
  const double deviation = std::sqrt(count * prob * (1 - prob));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * prob;
  const double c = count * prob + 0.5, within = 0.92 - 4.2 / b, r = prob / (1 - prob);
  const double alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((count + 1) * prob);
  for (;;) {
    const double u = draw_uniform(source) - 0.5;
    double v = draw_uniform(source);
    const double us = 0.5 - std::fabs(u);
    const T k = T(std::floor((2 * a / us + b) * u + c));
    if (us >= 0.07 && v <= within) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double most = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) + (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                        (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(count - m) -
                        stirling_tail(k) - stirling_tail(count - k);
    if (v <= most) return k;
  }
}

// Trials up to each success are geometrically distributed.
template <class T>
T few_trials(T count, T prob, Mersenne& source) {
  const double failing = std::log1p(-prob);
  double trials = 0;
  for (T found = 0;; ++found) {
    trials += std::ceil(std::log(draw_uniform(source)) / failing);
    if (trials > count) return found;
  }
}

template <class T>
T binomial(T count, T prob, Mersenne& source) {
  if (std::isnan(count) || std::isnan(prob)) return std::numeric_limits<T>::quiet_NaN();
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  const bool less = prob <= T(0.5);
  const T p = less ? prob : T(1) - prob;
  const T found = count * p >= 10 ? many_trials(count, p, source) : few_trials(count, p, source);
  return less ? found : count - found;
}

// --- the gamma distribution ---------------------------------------------------------------------------------------------------

// Marsaglia and Tsang's rejection (2000); a number of a shape below one is one of the next shape times a power.
// PyTorch has two of the constants in float32.
// T is what alpha is counted in.
template <class T>
double gamma(T alpha, Mersenne& source) {
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale = std::pow(1 - draw_uniform(source), double(1 / alpha));
    alpha += 1;
  }
  const double d = alpha - T(1.0f / 3.0f), c = 1 / std::sqrt(9 * d);
  if (std::isnan(c)) return 0;
  for (;;) {
    double x, y;
    do {
      x = draw_normal(source);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - draw_uniform(source), xx = x * x;
    if (u < 1 - 0.0331f * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

template <class F>
void of_floats(const Tensor& t, F&& f) {
  const std::lock_guard lock(drawing);
  if (t->dtype() == DType::f64) f(t->data_as<double>());
  else f(t->data_as<float>());
}

}  // namespace

void fill_poisson(const Tensor& out, const Tensor& rate, Mersenne& source) {
  of_floats(out, [&]<class T>(T* x) {
    const T* r = rate->data_as<T>();
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = T(poisson(double(r[i]), source));
  });
}

void fill_gamma(const Tensor& out, const Tensor& shape, Mersenne& source) {
  of_floats(out, [&]<class T>(T* x) {
    const T* a = shape->data_as<T>();
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = std::max(std::numeric_limits<T>::min(), T(gamma(a[i], source)));
  });
}

void fill_binomial(const Tensor& out, const Tensor& count, const Tensor& prob, Mersenne& source) {
  of_floats(out, [&]<class T>(T* x) {
    const T *n = count->data_as<T>(), *p = prob->data_as<T>();
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = binomial(n[i], p[i], source);
  });
}

}  // namespace shim
