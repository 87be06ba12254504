#pragma once
// How the CPU takes a step by a rule.
#include "cpu/optimizer_loops.h"
#include "cpu/optimizer_rates.h"
#include "cpu/optimizer_steps.h"

namespace shim::optimizers {

// `more`: tensors of one number beside the counts, which the rules write.
template <size_t states, class Make> Stepped stepped(const StepLists& l, Make make, TensorList more = {}) {
  if (const char* why = against_lists(l)) return NotMine{why};
  step_lists<states>(l, make);
  bump_versions(l, more);
  return std::tuple<>();
}

}  // namespace shim::optimizers
