#pragma once
// What counts of steps make of an optimizer's settings: three numbers for the rules of ops/special/optimizer_rules.h.
#include <array>
#include <cmath>

#include "core/tensor.h"
#include "cpu/optimizer_steps.h"

namespace shim::optimizers {

using Rates = std::array<double, 3>;

// Of a count: most tensors have the same one.
template <class F> class OfCount {
 public:
  explicit OfCount(F f) : f_(f) {}
  const Rates& operator()(double count) {
    if (count != count_) values_ = f_(count_ = count);
    return values_;
  }

 private:
  F f_;
  double count_ = -1;
  Rates values_{};
};

inline double number_of(const TensorImpl& t) {
  return t.dtype() == DType::f64 ? *t.data_as<double>() : double(*t.data_as<float>());
}
inline void set_number(const TensorImpl& t, double to) {
  if (t.dtype() == DType::f64)
    *t.data_as<double>() = to;
  else
    *t.data_as<float>() = float(to);
}

inline Rates adagrad_rates(const AdagradSettings& o, double count) { return {-o.lr / (1 + (count - 1) * o.lr_decay)}; }
inline Rates adamax_rates(const AdamaxSettings& o, double count) { return {-o.lr / (1 - std::pow(o.beta1, count))}; }

inline Rates radam_rates(const AdamSettings& o, double count) {
  const double late = 1 - std::pow(o.beta2, count), most = 2 / (1 - o.beta2) - 1;
  const double length = most - 2 * count * std::pow(o.beta2, count) / late;
  const double ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length);
  return {1 - std::pow(o.beta1, count), std::sqrt(late),
      length > 5 ? std::sqrt(ratio) : 0};  // 0: the variance is not known
}

// `product`: of the momentums until now, which has this step's from then on, as its tensor holds it.
struct NadamRates {
  const AdamSettings& settings;
  double momentum_decay;
  double momentum(double count) const { return settings.beta1 * (1 - 0.5 * std::pow(0.96, count * momentum_decay)); }
  double next_product(const TensorImpl& product, double count) const {
    if (product.dtype() == DType::f64) return number_of(product) * momentum(count);
    return float(number_of(product)) * float(momentum(count));
  }
  Rates operator()(double product, double count) const {
    const double now = momentum(count), then = momentum(count + 1), lr = settings.lr;
    return {1 - std::pow(settings.beta2, count), -lr * (1 - now) / (1 - product), -lr * then / (1 - product * then)};
  }
};

}  // namespace shim::optimizers
