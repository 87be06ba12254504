#include "cpu/optimizer_steps.h"

#include "cpu/optimizer_rules.h"

namespace shim::optimizers {
namespace {

template <class T, bool amsgrad> struct Adam {
  using C = Wide<T>;
  Moments<T> moments;
  C root, rate;
  Adam(const AdamSettings& o, const Rates& corrections)
      : moments(o), root(C(std::sqrt(corrections[1]))), rate(C(-o.lr / corrections[0])) {}
  void operator()(C& x, C g, C* s) const {
    moments(x, g, s);
    if constexpr (amsgrad) s[2] = larger(s[2], s[1]);
    const C size = rounded<T>(rounded<T>(std::sqrt(s[amsgrad ? 2 : 1])) / root);
    x = x + rate * (s[0] / rounded<T>(size + moments.eps));
  }
};

template <class T, bool moves> struct Sgd {
  using C = Wide<T>;
  Decayed<T> gradient;
  C kept, momentum, fresh, rate;
  bool nesterov;
  explicit Sgd(const SgdSettings& o)
      : gradient(o.maximize, o.weight_decay),
        kept(C(o.momentum)),
        momentum(as_alpha<T>(o.momentum)),
        fresh(as_alpha<T>(1 - o.dampening)),
        rate(as_alpha<T>(-o.lr)),
        nesterov(o.nesterov) {}
  void operator()(C& x, C g, C* s) const {
    g = gradient(g, x);
    if constexpr (moves) {
      s[0] = rounded<T>(rounded<T>(s[0] * kept) + fresh * g);
      g = nesterov ? rounded<T>(g + momentum * s[0]) : s[0];
    }
    x = x + rate * g;
  }
};

}  // namespace

Stepped adam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList greatest, TensorList counts, const AdamSettings& o) {
  OfCount corrections(
      [&](double count) -> Rates { return {1 - std::pow(o.beta1, count), 1 - std::pow(o.beta2, count)}; });
  const auto make = [&]<bool amsgrad>() {
    return [&]<class T>(double count, size_t) { return Adam<T, amsgrad>(o, corrections(count)); };
  };
  if (greatest.empty()) return stepped<2>({parameters, gradients, {means, squares}, counts}, make.operator()<false>());
  return stepped<3>({parameters, gradients, {means, squares, greatest}, counts}, make.operator()<true>());
}

Stepped sgd_step(TensorList parameters, TensorList gradients, TensorList buffers, const SgdSettings& o) {
  const auto make = [&]<bool moves>() { return [&]<class T>(double, size_t) { return Sgd<T, moves>(o); }; };
  if (buffers.empty()) return stepped<0>({parameters, gradients, {}, {}, false}, make.operator()<false>());
  return stepped<1>({parameters, gradients, {buffers}, {}, false}, make.operator()<true>());
}

Stepped adagrad_step(
    TensorList parameters, TensorList gradients, TensorList sums, TensorList counts, const AdagradSettings& o) {
  return stepped<1>({parameters, gradients, {sums}, counts},
      [&]<class T>(double count, size_t) { return Adagrad<T>(o, adagrad_rates(o, count).data()); });
}

Stepped rmsprop_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList buffers,
    TensorList means, TensorList counts, const RmspropSettings& o) {
  const auto make = [&]<bool moves, bool centred>() {
    return [&]<class T>(double, size_t) { return Rmsprop<T, moves, centred>(o, nullptr); };
  };
  if (buffers.empty() && means.empty())
    return stepped<1>({parameters, gradients, {squares}, counts}, make.operator()<false, false>());
  if (buffers.empty())
    return stepped<2>({parameters, gradients, {squares, means}, counts}, make.operator()<false, true>());
  if (means.empty())
    return stepped<2>({parameters, gradients, {squares, buffers}, counts}, make.operator()<true, false>());
  return stepped<3>({parameters, gradients, {squares, buffers, means}, counts}, make.operator()<true, true>());
}

}  // namespace shim::optimizers
