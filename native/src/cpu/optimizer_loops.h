#pragma once
// How a rule of an optimizer runs over lists of CPU tensors: Rule<T> gets one element of each, in T's compute type.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/dense.h"
#include "cpu/parallel.h"
#include "cpu/optimizer_element.h"
#include "ops/kernel.h"

namespace shim::optimizers {

template <size_t states> struct StepLists {
  TensorList parameters, gradients;
  std::array<TensorList, states> state;
  TensorList counts;  // of steps,
  bool counts_steps = true;
};

inline bool lies_alike(const TensorImpl& a, const TensorImpl& b) {
  return a.dtype() == b.dtype() && b.device().is_cpu() && std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.strides(), b.strides());
}

inline bool is_count(const Tensor& c) {
  return c->device().is_cpu() && c->numel() == 1 && (c->dtype() == DType::f32 || c->dtype() == DType::f64);
}

// Why the tensors are none for these loops; null: they are.
template <size_t states> const char* against_lists(const StepLists<states>& l) {
  const size_t n = l.parameters.size();
  const auto fits = [&](TensorList list) { return list.size() == n; };
  if (!fits(l.gradients) || !std::ranges::all_of(l.state, fits) || (l.counts_steps && !fits(l.counts)))
    return "lists of different lengths";
  for (size_t i = 0; i < n; ++i) {
    const TensorImpl& p = *l.parameters[i];
    if (!p.device().is_cpu() || !floating(p.dtype())) return "parameters of another dtype or device";
    if (!p.is_contiguous() && !dense(p)) return "parameters that are not dense";
    if (!lies_alike(p, *l.gradients[i])) return "gradients that lie in another way";
    for (TensorList s : l.state)
      if (!lies_alike(p, *s[i])) return "a state that lies in another way";
  }
  return std::ranges::all_of(l.counts, is_count) ? nullptr : "step counts of another kind";
}

// The count of this step, which the tensor has from now on.
inline double counted(const TensorImpl& count) {
  if (count.dtype() == DType::f64) return ++*static_cast<double*>(count.data());
  return ++*static_cast<float*>(count.data());
}

template <class T, size_t states, class Rule>
void step_elements(const Rule& rule, T* p, const T* g, std::array<T*, states> s, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    Wide<T> x = cast_element<Wide<T>>(p[i]), state[states ? states : 1];
    for (size_t k = 0; k < states; ++k) state[k] = cast_element<Wide<T>>(s[k][i]);
    rule(x, cast_element<Wide<T>>(g[i]), state);
    p[i] = cast_element<T>(x);
    for (size_t k = 0; k < states; ++k) s[k][i] = cast_element<T>(state[k]);
  }
}

template <class T, size_t states, class Rule> void step_tensor(const Rule& rule, const StepLists<states>& l, size_t i) {
  const auto start = [&](TensorList list) { return static_cast<T*>(list[i]->data()); };
  T *p = start(l.parameters), *g = start(l.gradients);
  std::array<T*, states> s;
  for (size_t k = 0; k < states; ++k) s[k] = start(l.state[k]);
  const int64_t n = l.parameters[i]->numel();
  if (n < 2 * kGrain) return step_elements<T, states>(rule, p, g, s, n);
  const Unlocked others_run;
  parallel_for(n, kGrain / 4, [&](int64_t begin, int64_t end) {
    std::array<T*, states> from;
    for (size_t k = 0; k < states; ++k) from[k] = s[k] + begin;
    step_elements<T, states>(rule, p + begin, g + begin, from, end - begin);
  });
}

// make.template operator()<T>(count, i): the rule of the tensor i whose step it is. The tensors were looked at (against_lists).
template <size_t states, class Make> void step_lists(const StepLists<states>& l, Make make) {
  for (size_t i = 0; i < l.parameters.size(); ++i) {
    const double count = l.counts.empty() ? 0 : counted(*l.counts[i]);
    const auto run = [&]<class T>(T) { step_tensor<T, states>(make.template operator()<T>(count, i), l, i); };
    switch (l.parameters[i]->dtype()) {
      case DType::f32: run(float()); break;
      case DType::f64: run(double()); break;
      case DType::f16: run(Half()); break;
      default: run(BFloat16());
    }
  }
}

}  // namespace shim::optimizers
