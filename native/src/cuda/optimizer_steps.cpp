#include "cuda/optimizer_steps.h"

#include <cmath>

#include "cpu/optimizer_rates.h"
#include "cuda/foreach.h"
#include "cuda/foreach_lists.h"
#include "cuda/graph_numbers.h"

namespace shim::cuda {

using namespace foreach_lists;
using namespace optimizers;

namespace {

template <class C> struct AdamNumbers {
  double beta1, beta2;
  C eps, decay, size[kMost], root[kMost];
};
template <class C> struct AdamLaunch {
  AdamNumbers<C> own;
  const void* elsewhere;
  float* step[kMost];
  void* counted;
  int maximize;
};
template <class C> struct SgdNumbers {
  C rate, momentum, fresh, decay;
};
template <class C> struct SgdLaunch {
  SgdNumbers<C> own;
  const void* elsewhere;
  int nesterov, maximize;
};
template <class Settings> struct RuleNumbers {
  Settings settings;
  double rates[3][kMost];
};
template <class Settings> struct RuleLaunch {
  RuleNumbers<Settings> own;
  const void* elsewhere;
};
// STEP of foreach.cuh.
enum Rule { adagrad = 1, rmsprop, adadelta = 6, adamax, nadam, radam };

// Where the kernel of a launch finds its numbers: null, with the launch, or where a graph has them.
template <class N> const void* place_of(const N& numbers, size_t tensors) {
  return graph_numbers ? graph_numbers->place(&numbers, sizeof numbers, tensors) : nullptr;
}

// numbers(which tensors) of the launches that a graph has, which are not made again: true. Else false.
template <class F> bool renewed(Tensors parameters, F numbers) {
  if (!graph_numbers || !graph_numbers->renews()) return false;
  std::vector<size_t> all;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i]->numel()) all.push_back(i);
  for (size_t at = 0; at < all.size();) {
    const size_t n = graph_numbers->next_tensors();
    CHECK(shim::Kind::Runtime, n && at + n <= all.size(), "an operator has other launches than at the capture");
    const std::vector<size_t> taken(all.begin() + int64_t(at), all.begin() + int64_t(at + n));
    place_of(numbers(taken), n);
    at += n;
  }
  return true;
}

Stepped stepped(std::initializer_list<Tensors> written) {
  for (Tensors l : written)
    for (const Tensor& t : l) t->bump_version();
  return std::tuple<>();
}

// Of counts: they are on the device, on the CPU, or neither.
enum class Counts { none, device, host };
Counts kind_of(Tensors counts, const Tensor& beside) {
  const auto all = [&](auto is) { return std::ranges::all_of(counts, is); };
  if (all([&](const Tensor& t) {
        return t->device() == beside->device() && t->dtype() == DType::f32 && t->numel() == 1;
      }))
    return Counts::device;
  if (all([](const Tensor& t) {
        return t->device().is_cpu() && (t->dtype() == DType::f32 || t->dtype() == DType::f64) && t->numel() == 1;
      }))
    return Counts::host;
  return Counts::none;
}

double next(const TensorImpl& count) { return number_of(count) + 1; }
void count_up(Tensors counts) {
  for (const Tensor& t : counts) set_number(*t, next(*t));
}

// Parameters without elements are in no launch; their steps count all the same.
bool count_up_of_empty(Tensors parameters, Tensors counts) {
  std::vector<Tensor> of_empty;
  for (size_t i = 0; i < counts.size(); ++i)
    if (!parameters[i]->numel()) of_empty.push_back(counts[i]);
  const std::vector<double> ones(of_empty.size(), 1.0);
  const Shared number{Share::number, {}};
  return of_empty.empty() || each("add", of_empty, of_empty, {&number, 1}, ones);
}

// A step by a rule of ops/special/optimizer_rules.h: rates(its count, which tensor) of each tensor.
template <int states, class Settings, class F>
Stepped ruled_step(int rule, Tensors parameters, Tensors gradients, const std::array<Tensors, 3>& s, Tensors counts,
    const Settings& o, F rates) {
  const bool all = std::ranges::all_of(std::span(s).first(states), [&](Tensors l) { return !l.empty(); });
  if (!all || gradients.empty() || counts.size() != parameters.size() ||
      !alike({parameters, gradients, s[0], s[1], s[2]}))
    return NotMine{"tensors of other kinds"};
  if (kind_of(counts, parameters[0]) != Counts::host) return NotMine{"step counts of another kind"};
  std::vector<Rates> of_each;
  for (size_t i = 0; i < counts.size(); ++i) of_each.push_back(rates(next(*counts[i]), i));
  const DType t = parameters[0]->dtype();
  const int device = parameters[0]->device().index;
  const bool done = computed(t, [&](auto zero) {
    const auto numbers = [&](const std::vector<size_t>& taken) {
      RuleNumbers<Settings> n{o, {}};
      for (size_t k = 0; k < taken.size(); ++k)
        for (size_t r = 0; r < 3; ++r) n.rates[r][k] = of_each[taken[k]][r];
      return n;
    };
    if (renewed(parameters, numbers)) return true;
    const int vector = vector_of_all({parameters, gradients, s[0], s[1], s[2]});
    const auto f = foreach_kernel<entries::foreach::by_rule>("STEP", rule, t, vector, device);
    if (!f) return false;
    std::array<Tensors, states + 2> lists{parameters, gradients};
    std::copy_n(s.begin(), states, lists.begin() + 2);
    groups<states + 2, decltype(zero)>(lists, vector, [&](auto& l, const std::vector<size_t>& taken, int64_t blocks) {
      RuleLaunch<Settings> a{numbers(taken), nullptr};
      a.elsewhere = place_of(a.own, taken.size());
      launch(f, {blocks}, device, l, a);
    });
    return true;
  });
  if (!done) return NotMine{"no kernel"};
  count_up(counts);
  return stepped({parameters, s[0], s[1], s[2], counts});
}
constexpr auto no_rates = [](double, size_t) { return Rates{}; };

}  // namespace

Stepped adam_step(Tensors parameters, Tensors gradients, Tensors means, Tensors squares, Tensors greatest,
    Tensors counts, const AdamSettings& o) {
  if (!alike({parameters, gradients, means, squares, greatest}) || gradients.empty() || means.empty() ||
      squares.empty() || counts.size() != parameters.size())
    return NotMine{"tensors of other kinds"};
  const Counts kind = kind_of(counts, parameters[0]);
  if (kind == Counts::none) return NotMine{"step counts of another kind"};
  const bool on_device = kind == Counts::device;
  std::vector<double> steps;
  if (!on_device)
    for (const Tensor& t : counts) steps.push_back(next(*t));
  const DType t = parameters[0]->dtype();
  const int device = parameters[0]->device().index;
  const bool done = computed(t, [&](auto zero) {
    using C = decltype(zero);
    const auto numbers = [&](const std::vector<size_t>& taken) {
      AdamNumbers<C> a{o.beta1, o.beta2, C(o.eps), C(o.decoupled ? 1 - o.lr * o.weight_decay : o.weight_decay), {}, {}};
      for (size_t k = 0; k < taken.size(); ++k) {
        a.size[k] = C(on_device ? o.lr : o.lr / (1 - std::pow(o.beta1, steps[taken[k]])));
        a.root[k] = C(on_device ? 1 : std::sqrt(1 - std::pow(o.beta2, steps[taken[k]])));
      }
      return a;
    };
    if (renewed(parameters, numbers)) return true;
    const int vector = vector_of_all({parameters, gradients, means, squares, greatest});
    const int which = 1 + (greatest.empty() ? 0 : 2) + (o.decoupled ? 4 : 0);
    const auto f = foreach_kernel<entries::foreach::adam>("ADAM", which, t, vector, device);
    const auto count = foreach_kernel<entries::foreach::adam_counts>("ADAM", which, t, vector, device);
    if (!f || !count || (on_device && !count_up_of_empty(parameters, counts))) return false;
    groups<5, C>({parameters, gradients, means, squares, greatest}, vector,
        [&](auto& l, const std::vector<size_t>& taken, int64_t blocks) {
          AdamLaunch<C> a{numbers(taken), nullptr, {}, nullptr, int(o.maximize)};
          a.elsewhere = place_of(a.own, taken.size());
          Tensor counted;
          if (on_device) {
            counted = empty(Dims{2 * int64_t(taken.size())}, cuda::compute_dtype(t), parameters[0]->device());
            a.counted = counted->data();
            for (size_t k = 0; k < taken.size(); ++k) a.step[k] = counts[taken[k]]->data_as<float>();
            launch(count, {1, 1, 64}, device, a, int(taken.size()));
          }
          launch(f, {blocks}, device, l, a);
        });
    return true;
  });
  if (!done) return NotMine{"no kernel"};
  if (!on_device) count_up(counts);
  return stepped({parameters, means, squares, greatest, counts});
}

Stepped sgd_step(Tensors parameters, Tensors gradients, Tensors buffers, const SgdSettings& o) {
  if (!alike({parameters, gradients, buffers}) || gradients.empty()) return NotMine{"tensors of other kinds"};
  const DType t = parameters[0]->dtype();
  const int device = parameters[0]->device().index;
  const bool done = computed(t, [&](auto zero) {
    using C = decltype(zero);
    const SgdNumbers<C> numbers{C(o.lr), C(o.momentum), C(1 - o.dampening), C(o.weight_decay)};
    if (renewed(parameters, [&](const std::vector<size_t>&) { return numbers; })) return true;
    const int vector = vector_of_all({parameters, gradients, buffers});
    const auto f = foreach_kernel<entries::foreach::sgd>("SGD", buffers.empty() ? 1 : 3, t, vector, device);
    if (!f) return false;
    groups<3, C>(
        {parameters, gradients, buffers}, vector, [&](auto& l, const std::vector<size_t>& taken, int64_t blocks) {
          SgdLaunch<C> a{numbers, nullptr, int(o.nesterov), int(o.maximize)};
          a.elsewhere = place_of(a.own, taken.size());
          launch(f, {blocks}, device, l, a);
        });
    return true;
  });
  if (!done) return NotMine{"no kernel"};
  return stepped({parameters, buffers});
}

Stepped adagrad_step(Tensors parameters, Tensors gradients, Tensors sums, Tensors counts, const AdagradSettings& o) {
  return ruled_step<1>(
      adagrad, parameters, gradients, {sums}, counts, o, [&](double count, size_t) { return adagrad_rates(o, count); });
}

Stepped rmsprop_step(Tensors parameters, Tensors gradients, Tensors squares, Tensors buffers, Tensors means,
    Tensors counts, const RmspropSettings& o) {
  const int rule = rmsprop + !buffers.empty() + 2 * !means.empty();
  const auto step = [&]<int states>(const std::array<Tensors, 3>& s) {
    return ruled_step<states>(rule, parameters, gradients, s, counts, o, no_rates);
  };
  if (buffers.empty() && means.empty()) return step.operator()<1>({squares});
  if (buffers.empty()) return step.operator()<2>({squares, means});
  if (means.empty()) return step.operator()<2>({squares, buffers});
  return step.operator()<3>({squares, buffers, means});
}

Stepped adadelta_step(
    Tensors parameters, Tensors gradients, Tensors squares, Tensors moves, Tensors counts, const AdadeltaSettings& o) {
  return ruled_step<2>(adadelta, parameters, gradients, {squares, moves}, counts, o, no_rates);
}

Stepped adamax_step(
    Tensors parameters, Tensors gradients, Tensors means, Tensors largest, Tensors counts, const AdamaxSettings& o) {
  return ruled_step<2>(adamax, parameters, gradients, {means, largest}, counts, o,
      [&](double count, size_t) { return adamax_rates(o, count); });
}

Stepped nadam_step(Tensors parameters, Tensors gradients, Tensors means, Tensors squares, Tensors products,
    Tensors counts, double momentum_decay, const AdamSettings& o) {
  if (products.size() != parameters.size() || kind_of(products, parameters[0]) != Counts::host)
    return NotMine{"no products of momentums"};
  const NadamRates rates{o, momentum_decay};
  std::vector<double> next_products(products.size());
  const auto step = ruled_step<2>(nadam, parameters, gradients, {means, squares}, counts, o,
      [&](double count, size_t i) { return rates(next_products[i] = rates.next_product(*products[i], count), count); });
  if (!step) return step;
  for (size_t i = 0; i < products.size(); ++i) set_number(*products[i], next_products[i]);
  return stepped({products});
}

Stepped radam_step(
    Tensors parameters, Tensors gradients, Tensors means, Tensors squares, Tensors counts, const AdamSettings& o) {
  return ruled_step<2>(radam, parameters, gradients, {means, squares}, counts, o,
      [&](double count, size_t) { return radam_rates(o, count); });
}

}  // namespace shim::cuda
