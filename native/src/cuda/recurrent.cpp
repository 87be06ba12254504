#include "cuda/recurrent.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/recurrent.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family recurrent_family{"recurrent"};

template <class E> Kernel<E> step_kernel(DType t, int device) {
  return find_kernel<E>(recurrent_family, key_of(int(t)), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(compute_dtype(t)), "V=1"};
  });
}

// Why no kernel takes tensors of `parts` times the state's units; null where one does. Null tensors are absent.
const char* no_step(const Tensor& state, std::initializer_list<const Tensor*> others,
    std::initializer_list<std::pair<const Tensor*, int64_t>> parts) {
  if (const char* why = not_floats({&state})) return why;
  if (const char* why = not_floats(others)) return why;
  if (!state->dim()) return kOtherSizes.reason;
  for (const Tensor* t : others) {
    if (!*t) continue;
    if ((*t)->dtype() != state->dtype()) return kMixedDtypes.reason;
    if ((*t)->device() != state->device()) return kMixedDevices.reason;
  }
  for (const auto& [t, times] : parts) {
    if (!*t) continue;
    Dims wanted(state->sizes().begin(), state->sizes().end());
    wanted.back() *= times;
    if (!std::ranges::equal((*t)->sizes(), wanted)) return kOtherSizes.reason;
    if ((*t)->numel() > INT32_MAX) return kTooMany.reason;
  }
  return nullptr;
}

uint32_t units(const Tensor& state) { return uint32_t(state->numel()); }
uint32_t width(const Tensor& state) { return uint32_t(state->sizes().back()); }
Tensor like(const Tensor& t) { return empty(t->sizes(), t->dtype(), t->device()); }
Tensor wider(const Tensor& state, int64_t times) {
  Dims sizes(state->sizes().begin(), state->sizes().end());
  sizes.back() *= times;
  return empty(sizes, state->dtype(), state->device());
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_step(const Tensor& a, const Tensor& b, const Tensor& cell) {
  if (const char* why = no_step(cell, {&a, &b}, {{&a, 4}, {&b, 4}})) return NotMine{why};
  const int device = cell->device().index;
  const auto f = step_kernel<entries::recurrent::lstm_step>(cell->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor first = contiguous(a), second = contiguous(b), before = contiguous(cell), h = like(cell),
               after = like(cell), gates = like(a);
  launch(f, {blocks_for(cell->numel()), 1, 256}, device, first->data(), second->data(), before->data(), h->data(),
      after->data(), gates->data(), units(cell), width(cell));
  return std::tuple{h, after, gates};
}

Outcome<std::tuple<Tensor, Tensor>> lstm_step_backward(const OptionalTensor& of_h, const OptionalTensor& of_cell,
    const Tensor& gates, const Tensor& before, const Tensor& after) {
  const Tensor &own_h = or_null(of_h), &own_cell = or_null(of_cell);
  if (const char* why =
          no_step(before, {&own_h, &own_cell, &gates, &after}, {{&own_h, 1}, {&own_cell, 1}, {&gates, 4}, {&after, 1}}))
    return NotMine{why};
  const int device = before->device().index;
  const auto f = step_kernel<entries::recurrent::lstm_step_backward>(before->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor gh = contiguous_or_null(own_h), gc = contiguous_or_null(own_cell), kept = contiguous(gates),
               from = contiguous(before), next = contiguous(after), to_gates = like(gates), to_cell = like(before);
  launch(f, {blocks_for(before->numel()), 1, 256}, device, data_or_null(gh), data_or_null(gc), kept->data(),
      from->data(), next->data(), to_gates->data(), to_cell->data(), units(before), width(before));
  return std::tuple{to_gates, to_cell};
}

Outcome<std::tuple<Tensor, Tensor>> gru_step(const Tensor& gates, const Tensor& more, const Tensor& state) {
  if (const char* why = no_step(state, {&gates, &more}, {{&gates, 3}, {&more, 3}})) return NotMine{why};
  const int device = state->device().index;
  const auto f = step_kernel<entries::recurrent::gru_step>(state->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor a = contiguous(gates), b = contiguous(more), before = contiguous(state), h = like(state),
               kept = wider(state, 4);
  launch(f, {blocks_for(state->numel()), 1, 256}, device, a->data(), b->data(), before->data(), h->data(), kept->data(),
      units(state), width(state));
  return std::tuple{h, kept};
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> gru_step_backward(
    const Tensor& g, const Tensor& kept, const Tensor& state) {
  if (const char* why = no_step(state, {&g, &kept}, {{&g, 1}, {&kept, 4}})) return NotMine{why};
  const int device = state->device().index;
  const auto f = step_kernel<entries::recurrent::gru_step_backward>(state->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor slope = contiguous(g), from = contiguous(kept), before = contiguous(state), to_gates = wider(state, 3),
               to_more = wider(state, 3), to_state = like(state);
  launch(f, {blocks_for(state->numel()), 1, 256}, device, slope->data(), from->data(), before->data(), to_gates->data(),
      to_more->data(), to_state->data(), units(state), width(state));
  return std::tuple{to_gates, to_more, to_state};
}

}  // namespace shim::cuda
