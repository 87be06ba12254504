#pragma once
// What the rules of several optimizers share.
#include "cpu/optimizer_loops.h"
#include "cpu/optimizer_steps.h"

namespace shim::optimizers {

// What a step count makes of two rates: most tensors have the same one.
template <class F> class OfCount {
 public:
  explicit OfCount(F f) : f_(f) {}
  const std::array<double, 2>& operator()(double count) {
    if (count != count_) values_ = f_(count_ = count);
    return values_;
  }

 private:
  F f_;
  double count_ = -1;
  std::array<double, 2> values_{};
};

template <class T> struct Lerp {
  explicit Lerp(double weight) : weight_(Wide<T>(weight)) {}
  Wide<T> operator()(Wide<T> x, Wide<T> to) const {
    using C = Wide<T>;
    return rounded<T>(std::fabs(weight_) < C(0.5) ? x + weight_ * (to - x) : to - (to - x) * (C(1) - weight_));
  }

 private:
  Wide<T> weight_;
};

// A number that add() adds, or multiplies by, which it takes in the tensors' dtype.
template <class T> Wide<T> as_alpha(double x) { return rounded<T>(Wide<T>(x)); }

// The gradient, with weight decay where it is no step of its own.
template <class T> struct Decayed {
  Wide<T> sign, weight_decay;
  bool decays;
  Decayed(bool maximize, double decay)
      : sign(maximize ? -1 : 1), weight_decay(as_alpha<T>(decay)), decays(decay != 0) {}
  Wide<T> operator()(Wide<T> g, Wide<T> x) const {
    g = g * sign;
    return decays ? rounded<T>(g + weight_decay * x) : g;
  }
};

// The means of the gradients and of their squares.
template <class T> struct Moments {
  using C = Wide<T>;
  Decayed<T> gradient;
  Lerp<T> mean;
  C kept, beta2, fresh2, eps;
  explicit Moments(const AdamSettings& o)
      : gradient(o.maximize, o.decoupled ? 0 : o.weight_decay),
        mean(1 - o.beta1),
        kept(C(o.decoupled ? 1 - o.lr * o.weight_decay : 1)),
        beta2(C(o.beta2)),
        fresh2(C(1 - o.beta2)),
        eps(as_alpha<T>(o.eps)) {}
  C operator()(C& x, C g, C* s) const {  // gives the gradient
    g = gradient(g, x);
    x = rounded<T>(x * kept);
    s[0] = mean(s[0], g);
    s[1] = rounded<T>(rounded<T>(s[1] * beta2) + fresh2 * g * g);
    return g;
  }
};

template <class C> C larger(C x, C y) { return x != x ? x : y != y ? y : x > y ? x : y; }

// `more`: tensors of one number beside the counts, which the rules write.
template <size_t states, class Make> Stepped stepped(const StepLists<states>& l, Make make, TensorList more = {}) {
  if (const char* why = against_lists(l)) return NotMine{why};
  step_lists(l, make);
  for (const Tensor& p : l.parameters) p->bump_version();
  for (TensorList list : l.state)
    for (const Tensor& s : list) s->bump_version();
  for (TensorList list : {l.counts, more})
    for (const Tensor& c : list) c->bump_version();
  return std::tuple<>();
}

}  // namespace shim::optimizers
