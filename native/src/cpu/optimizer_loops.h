#pragma once
// How a rule of an optimizer runs over lists of CPU tensors: Rule<T> gets one element of each, in T's compute type.
#include <array>
#include <cmath>
#include <vector>

#include "cpu/optimizer_element.h"
#include "ops/kernel.h"

namespace shim::optimizers {

constexpr size_t kMostStates = 3;

struct StepLists {
  TensorList parameters, gradients;
  std::vector<TensorList> state;
  TensorList counts;  // of steps,
  bool counts_steps = true;
};

inline bool is_count(const Tensor& c) {
  return c->device().is_cpu() && c->numel() == 1 && (c->dtype() == DType::f32 || c->dtype() == DType::f64);
}

// n elements at the first of `tensors`, which are a parameter, its gradient and its states.
using StepLoop = void (*)(const void* rule, char* const* tensors, int64_t n);

template <class T, size_t states, class Rule> void step_elements(const void* by, char* const* tensors, int64_t n) {
  const Rule rule = *static_cast<const Rule*>(by);  // its own, which no element written can change
  T* p = reinterpret_cast<T*>(tensors[0]);
  const T* g = reinterpret_cast<const T*>(tensors[1]);
  std::array<T*, states> s;
  for (size_t k = 0; k < states; ++k) s[k] = reinterpret_cast<T*>(tensors[2 + k]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    Wide<T> x = cast_element<Wide<T>>(p[i]), state[states ? states : 1];
    for (size_t k = 0; k < states; ++k) state[k] = cast_element<Wide<T>>(s[k][i]);
    rule(x, cast_element<Wide<T>>(g[i]), state);
    p[i] = cast_element<T>(x);
    for (size_t k = 0; k < states; ++k) s[k][i] = cast_element<T>(state[k]);
  }
}

// Why the tensors are none for these loops; null: they are.
const char* against_lists(const StepLists&);
// The count of this step, which the tensor has from now on.
double counted(const TensorImpl& count);
// One step of the tensor i.
void step_tensor(const StepLists&, size_t i, StepLoop loop, const void* rule);
// That the tensors have changed, and `more` beside those of the lists.
void bump_versions(const StepLists&, TensorList more);

// make.template operator()<T>(count, i): the rule of the tensor i whose step it is. The tensors were looked at (against_lists).
template <size_t states, class Make> void step_lists(const StepLists& l, Make make) {
  static_assert(states <= kMostStates);
  for (size_t i = 0; i < l.parameters.size(); ++i) {
    const double count = l.counts.empty() ? 0 : counted(*l.counts[i]);
    const auto run = [&]<class T>(T) {
      const auto rule = make.template operator()<T>(count, i);
      step_tensor(l, i, step_elements<T, states, std::remove_const_t<decltype(rule)>>, &rule);
    };
    switch (l.parameters[i]->dtype()) {
      case DType::f32: run(float()); break;
      case DType::f64: run(double()); break;
      case DType::f16: run(Half()); break;
      default: run(BFloat16());
    }
  }
}

}  // namespace shim::optimizers
