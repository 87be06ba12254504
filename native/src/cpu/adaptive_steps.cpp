// Steps of Adadelta, Adamax, NAdam and RAdam.
#include "cpu/optimizer_rules.h"

namespace shim::optimizers {
namespace {

template <class T> struct Adadelta {
  using C = Wide<T>;
  Decayed<T> gradient;
  C rho, fresh, eps, rate;
  explicit Adadelta(const AdadeltaSettings& o)
      : gradient(o.maximize, o.weight_decay),
        rho(C(o.rho)),
        fresh(C(1 - o.rho)),
        eps(as_alpha<T>(o.eps)),
        rate(as_alpha<T>(-o.lr)) {}
  C root(C x) const { return rounded<T>(std::sqrt(rounded<T>(x + eps))); }
  C mixed(C mean, C x) const { return rounded<T>(rounded<T>(mean * rho) + fresh * x * x); }
  void operator()(C& x, C g, C* s) const {
    g = gradient(g, x);
    s[0] = mixed(s[0], g);
    const C move = rounded<T>(rounded<T>(root(s[1]) / root(s[0])) * g);
    s[1] = mixed(s[1], move);
    x = x + rate * move;
  }
};

template <class T> struct Adamax {
  using C = Wide<T>;
  Decayed<T> gradient;
  Lerp<T> mean;
  C beta2, eps, rate;
  Adamax(const AdamaxSettings& o, double correction)
      : gradient(o.maximize, o.weight_decay),
        mean(1 - o.beta1),
        beta2(C(o.beta2)),
        eps(as_alpha<T>(o.eps)),
        rate(C(-o.lr / correction)) {}
  void operator()(C& x, C g, C* s) const {
    g = gradient(g, x);
    s[0] = mean(s[0], g);
    s[1] = larger(rounded<T>(s[1] * beta2), rounded<T>(std::fabs(g) + eps));
    x = x + rate * (s[0] / s[1]);
  }
};

struct NadamRates {
  double correction, of_gradient, of_mean;
};
template <class T> struct Nadam {
  using C = Wide<T>;
  Moments<T> moments;
  C correction, of_gradient, of_mean;
  Nadam(const AdamSettings& o, const NadamRates& r)
      : moments(o), correction(C(r.correction)), of_gradient(C(r.of_gradient)), of_mean(C(r.of_mean)) {}
  void operator()(C& x, C g, C* s) const {
    g = moments(x, g, s);
    const C scale = rounded<T>(rounded<T>(std::sqrt(rounded<T>(s[1] / correction))) + moments.eps);
    x = rounded<T>(x + of_gradient * (g / scale));
    x = x + of_mean * (s[0] / scale);
  }
};

struct RadamRates {
  double correction, root, rectified;
  bool known;
};
template <class T> struct Radam {
  using C = Wide<T>;
  Moments<T> moments;
  C rate, correction, root, rectified;
  bool known;
  Radam(const AdamSettings& o, const RadamRates& r)
      : moments(o),
        rate(as_alpha<T>(-o.lr)),
        correction(C(r.correction)),
        root(C(r.root)),
        rectified(C(r.rectified)),
        known(r.known) {}
  void operator()(C& x, C g, C* s) const {
    moments(x, g, s);
    C direction = rounded<T>(s[0] / correction);
    const C inverse = rounded<T>(C(1) / rounded<T>(rounded<T>(std::sqrt(s[1])) + moments.eps));
    const C scaled = rounded<T>(rounded<T>(direction * rounded<T>(inverse * root)) * rectified);
    x = x + rate * (known ? scaled : direction);
  }
};

RadamRates radam_rates(const AdamSettings& o, double count) {
  const double late = 1 - std::pow(o.beta2, count), most = 2 / (1 - o.beta2) - 1;
  const double length = most - 2 * count * std::pow(o.beta2, count) / late;
  const double ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length);
  const bool known = length > 5;
  return {1 - std::pow(o.beta1, count), std::sqrt(late), known ? std::sqrt(ratio) : 1, known};
}

// The product with one more number, as the tensor holds it.
double multiplied(const TensorImpl& product, double by) {
  if (product.dtype() == DType::f64) return *product.data_as<double>() *= by;
  return *product.data_as<float>() *= float(by);
}

}  // namespace

Stepped adadelta_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList moves,
    TensorList counts, const AdadeltaSettings& o) {
  return stepped(StepLists<2>{parameters, gradients, {squares, moves}, counts},
      [&]<class T>(double, size_t) { return Adadelta<T>(o); });
}

Stepped adamax_step(TensorList parameters, TensorList gradients, TensorList means, TensorList largest,
    TensorList counts, const AdamaxSettings& o) {
  return stepped(StepLists<2>{parameters, gradients, {means, largest}, counts},
      [&]<class T>(double count, size_t) { return Adamax<T>(o, 1 - std::pow(o.beta1, count)); });
}

Stepped nadam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList products, TensorList counts, double momentum_decay, const AdamSettings& o) {
  if (products.size() != parameters.size() || !std::ranges::all_of(products, is_count))
    return NotMine{"no products of momentums"};
  const auto momentum = [&](double count) { return o.beta1 * (1 - 0.5 * std::pow(0.96, count * momentum_decay)); };
  const auto make = [&]<class T>(double count, size_t i) {
    const double now = momentum(count), then = momentum(count + 1), product = multiplied(*products[i], now);
    return Nadam<T>(
        o, {1 - std::pow(o.beta2, count), -o.lr * (1 - now) / (1 - product), -o.lr * then / (1 - product * then)});
  };
  return stepped(StepLists<2>{parameters, gradients, {means, squares}, counts}, make, products);
}

Stepped radam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares, TensorList counts,
    const AdamSettings& o) {
  double last = -1;
  RadamRates rates{};
  return stepped(StepLists<2>{parameters, gradients, {means, squares}, counts}, [&]<class T>(double count, size_t) {
    if (count != last) rates = radam_rates(o, last = count);  // most tensors have the same
    return Radam<T>(o, rates);
  });
}

}  // namespace shim::optimizers
