#include "cpu/optimizer_loops.h"

#include <algorithm>

#include "core/dense.h"
#include "cpu/parallel.h"

namespace shim::optimizers {
namespace {

bool lies_alike(const TensorImpl& a, const TensorImpl& b) {
  return a.dtype() == b.dtype() && b.device().is_cpu() && std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.strides(), b.strides());
}

}  // namespace

const char* against_lists(const StepLists& l) {
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

double counted(const TensorImpl& count) {
  if (count.dtype() == DType::f64) return ++*static_cast<double*>(count.data());
  return ++*static_cast<float*>(count.data());
}

void step_tensor(const StepLists& l, size_t i, StepLoop loop, const void* rule) {
  char* tensors[2 + kMostStates] = {
      static_cast<char*>(l.parameters[i]->data()), static_cast<char*>(l.gradients[i]->data())};
  const size_t count = 2 + l.state.size(), size = l.parameters[i]->itemsize();
  for (size_t k = 2; k < count; ++k) tensors[k] = static_cast<char*>(l.state[k - 2][i]->data());
  const int64_t n = l.parameters[i]->numel();
  if (n < 2 * kGrain) return loop(rule, tensors, n);
  const Unlocked others_run;
  parallel_for(n, kGrain / 4, [&](int64_t begin, int64_t end) {
    char* from[2 + kMostStates];
    for (size_t k = 0; k < count; ++k) from[k] = tensors[k] + begin * int64_t(size);
    loop(rule, from, end - begin);
  });
}

void bump_versions(const StepLists& l, TensorList more) {
  for (const Tensor& p : l.parameters) p->bump_version();
  for (TensorList list : l.state)
    for (const Tensor& s : list) s->bump_version();
  for (TensorList list : {l.counts, more})
    for (const Tensor& c : list) c->bump_version();
}

}  // namespace shim::optimizers
