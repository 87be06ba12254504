#pragma once
// What is set aside while operators of a compiled function run.
#include <utility>

#include "autograd/autocast.h"
#include "autograd/operator_node.h"
#include "python/torch_dispatch_state.h"
#include "python/torch_function_state.h"
#include "python/trace.h"

namespace shim {

struct Inside {
  Inside() { ++inside_traced; }
  Inside(const Inside&) = delete;
  ~Inside() { --inside_traced; }
};

// A deferred operator runs as it would have when it was called: modes that were entered since do not see it, nor does a trace.
struct WithoutModes {
  Inside inside;
  NoGrad no_history;
  AutocastMode casts = autocast_mode();
  bool functions = std::exchange(torch_function::all_disabled, true);
  bool operators = std::exchange(torch_dispatch::disabled, true);
  bool traced = std::exchange(operators_are_traced, false);
  WithoutModes() { autocast_mode().cpu.enabled = autocast_mode().cuda.enabled = false; }
  ~WithoutModes() {
    autocast_mode().cpu.enabled = casts.cpu.enabled;
    autocast_mode().cuda.enabled = casts.cuda.enabled;
    torch_function::all_disabled = functions;
    torch_dispatch::disabled = operators;
    operators_are_traced = traced;
  }
};

}  // namespace shim
