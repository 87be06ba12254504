#pragma once
// What steps of optimizers make of one element and its states, of one text: the CPU's loops (cpu/optimizer_rules.h) and the kernels for
// lists on CUDA (foreach.cuh) run these. Both say before what Wide<T> is, which T is computed in, and rounded<T>, what a tensor of T holds.
// `rates`: what counts of steps make of the settings (cpu/optimizer_rates.h), three numbers.
#include "ops/special/host_device.h"

namespace shim::optimizers {

#ifndef __CUDACC_RTC__
using std::fabs, std::sqrt;
#endif

struct AdamSettings {
  double lr, beta1, beta2, weight_decay, eps;
  bool maximize, decoupled;
};
struct AdagradSettings {
  double lr, lr_decay, weight_decay, eps;
  bool maximize;
};
struct RmspropSettings {
  double lr, alpha, weight_decay, eps, momentum;
  bool maximize;
};
struct AdadeltaSettings {
  double lr, rho, weight_decay, eps;
  bool maximize;
};
struct AdamaxSettings {
  double lr, beta1, beta2, weight_decay, eps;
  bool maximize;
};

template <class T> struct Lerp {
  SHIM_FUNCTION explicit Lerp(double weight) : weight_(Wide<T>(weight)) {}
  SHIM_FUNCTION Wide<T> operator()(Wide<T> x, Wide<T> to) const {
    using W = Wide<T>;
    return rounded<T>(fabs(weight_) < W(0.5) ? x + weight_ * (to - x) : to - (to - x) * (W(1) - weight_));
  }

 private:
  Wide<T> weight_;
};

// A number that add() adds, or multiplies by, which it takes in the tensors' dtype.
template <class T> SHIM_FUNCTION Wide<T> as_alpha(double x) { return rounded<T>(Wide<T>(x)); }

// The gradient, with weight decay where it is no step of its own.
template <class T> struct Decayed {
  Wide<T> sign, weight_decay;
  bool decays;
  SHIM_FUNCTION Decayed(bool maximize, double decay)
      : sign(maximize ? -1 : 1), weight_decay(as_alpha<T>(decay)), decays(decay != 0) {}
  SHIM_FUNCTION Wide<T> operator()(Wide<T> g, Wide<T> x) const {
    g = g * sign;
    return decays ? rounded<T>(g + weight_decay * x) : g;
  }
};

// The means of the gradients and of their squares.
template <class T> struct Moments {
  using W = Wide<T>;
  Decayed<T> gradient;
  Lerp<T> mean;
  W kept, beta2, fresh2, eps;
  SHIM_FUNCTION explicit Moments(const AdamSettings& o)
      : gradient(o.maximize, o.decoupled ? 0 : o.weight_decay),
        mean(1 - o.beta1),
        kept(W(o.decoupled ? 1 - o.lr * o.weight_decay : 1)),
        beta2(W(o.beta2)),
        fresh2(W(1 - o.beta2)),
        eps(as_alpha<T>(o.eps)) {}
  SHIM_FUNCTION W operator()(W& x, W g, W* s) const {  // gives the gradient
    g = gradient(g, x);
    x = rounded<T>(x * kept);
    s[0] = mean(s[0], g);
    s[1] = rounded<T>(rounded<T>(s[1] * beta2) + fresh2 * g * g);
    return g;
  }
};

template <class W> SHIM_FUNCTION W larger(W x, W y) { return x != x ? x : y != y ? y : x > y ? x : y; }

template <class T> struct Adagrad {
  using W = Wide<T>;
  static constexpr int states = 1;
  Decayed<T> gradient;
  W eps, rate;
  SHIM_FUNCTION Adagrad(const AdagradSettings& o, const double* rates)
      : gradient(o.maximize, o.weight_decay), eps(as_alpha<T>(o.eps)), rate(W(rates[0])) {}
  SHIM_FUNCTION void operator()(W& x, W g, W* s) const {
    g = gradient(g, x);
    s[0] = rounded<T>(s[0] + g * g);
    x = x + rate * (g / rounded<T>(rounded<T>(sqrt(s[0])) + eps));
  }
};

template <class T, bool moves, bool centred> struct Rmsprop {
  using W = Wide<T>;
  static constexpr int states = 1 + moves + centred;
  Decayed<T> gradient;
  Lerp<T> mean;
  W alpha, fresh, eps, momentum, rate;
  SHIM_FUNCTION Rmsprop(const RmspropSettings& o, const double*)
      : gradient(o.maximize, o.weight_decay),
        mean(1 - o.alpha),
        alpha(W(o.alpha)),
        fresh(W(1 - o.alpha)),
        eps(as_alpha<T>(o.eps)),
        momentum(W(o.momentum)),
        rate(moves ? as_alpha<T>(-o.lr) : W(-o.lr)) {}
  SHIM_FUNCTION void operator()(W& x, W g, W* s) const {
    g = gradient(g, x);
    W square = s[0] = rounded<T>(rounded<T>(s[0] * alpha) + fresh * g * g);
    if constexpr (centred) {
      W& m = s[moves ? 2 : 1];
      m = mean(m, g);
      square = rounded<T>(square - m * m);
    }
    const W size = rounded<T>(rounded<T>(sqrt(square)) + eps);
    if constexpr (moves) {
      s[1] = rounded<T>(rounded<T>(s[1] * momentum) + g / size);
      x = x + rate * s[1];
    } else {
      x = x + rate * (g / size);
    }
  }
};

template <class T> struct Adadelta {
  using W = Wide<T>;
  static constexpr int states = 2;
  Decayed<T> gradient;
  W rho, fresh, eps, rate;
  SHIM_FUNCTION Adadelta(const AdadeltaSettings& o, const double*)
      : gradient(o.maximize, o.weight_decay),
        rho(W(o.rho)),
        fresh(W(1 - o.rho)),
        eps(as_alpha<T>(o.eps)),
        rate(as_alpha<T>(-o.lr)) {}
  SHIM_FUNCTION W root(W x) const { return rounded<T>(sqrt(rounded<T>(x + eps))); }
  SHIM_FUNCTION W mixed(W mean, W x) const { return rounded<T>(rounded<T>(mean * rho) + fresh * x * x); }
  SHIM_FUNCTION void operator()(W& x, W g, W* s) const {
    g = gradient(g, x);
    s[0] = mixed(s[0], g);
    const W move = rounded<T>(rounded<T>(root(s[1]) / root(s[0])) * g);
    s[1] = mixed(s[1], move);
    x = x + rate * move;
  }
};

template <class T> struct Adamax {
  using W = Wide<T>;
  static constexpr int states = 2;
  Decayed<T> gradient;
  Lerp<T> mean;
  W beta2, eps, rate;
  SHIM_FUNCTION Adamax(const AdamaxSettings& o, const double* rates)
      : gradient(o.maximize, o.weight_decay),
        mean(1 - o.beta1),
        beta2(W(o.beta2)),
        eps(as_alpha<T>(o.eps)),
        rate(W(rates[0])) {}
  SHIM_FUNCTION void operator()(W& x, W g, W* s) const {
    g = gradient(g, x);
    s[0] = mean(s[0], g);
    s[1] = larger(rounded<T>(s[1] * beta2), rounded<T>(fabs(g) + eps));
    x = x + rate * (s[0] / s[1]);
  }
};

template <class T> struct Nadam {
  using W = Wide<T>;
  static constexpr int states = 2;
  Moments<T> moments;
  W correction, of_gradient, of_mean;
  SHIM_FUNCTION Nadam(const AdamSettings& o, const double* rates)
      : moments(o), correction(W(rates[0])), of_gradient(W(rates[1])), of_mean(W(rates[2])) {}
  SHIM_FUNCTION void operator()(W& x, W g, W* s) const {
    g = moments(x, g, s);
    const W scale = rounded<T>(rounded<T>(sqrt(rounded<T>(s[1] / correction))) + moments.eps);
    x = rounded<T>(x + of_gradient * (g / scale));
    x = x + of_mean * (s[0] / scale);
  }
};

template <class T> struct Radam {
  using W = Wide<T>;
  static constexpr int states = 2;
  Moments<T> moments;
  W rate, correction, root, rectified;
  bool known;
  SHIM_FUNCTION Radam(const AdamSettings& o, const double* rates)
      : moments(o),
        rate(as_alpha<T>(-o.lr)),
        correction(W(rates[0])),
        root(W(rates[1])),
        rectified(W(rates[2])),
        known(rates[2] != 0) {}
  SHIM_FUNCTION void operator()(W& x, W g, W* s) const {
    moments(x, g, s);
    W direction = rounded<T>(s[0] / correction);
    const W inverse = rounded<T>(W(1) / rounded<T>(rounded<T>(sqrt(s[1])) + moments.eps));
    const W scaled = rounded<T>(rounded<T>(direction * rounded<T>(inverse * root)) * rectified);
    x = x + rate * (known ? scaled : direction);
  }
};

}  // namespace shim::optimizers
