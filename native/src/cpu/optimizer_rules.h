#pragma once
// How the CPU takes a step by a rule.
#include "cpu/optimizer_loops.h"
#include "cpu/optimizer_rates.h"
#include "cpu/optimizer_steps.h"

namespace shim::optimizers {

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
