#pragma once
// Where calls of operators (dispatch/call.h) meet the trace of a compiled function.
#include <utility>

#include "autograd/autocast.h"
#include "dispatch/call.h"
#include "trace/arguments.h"

namespace shim::trace {

void set_tracing(bool);
extern int inside_traced;  // how many operators run at once, with whose own calls of operators nothing is done

// The session, if this thread's calls of operators are traced at the moment.
Session* tracing_here(const Value* args, size_t n);
// Before memory of these arguments is touched without an operator that the trace sees.
void before_untraced(const Value* args, size_t n);
void install_traced_calls();

struct Inside {
  Inside() { ++inside_traced; }
  Inside(const Inside&) = delete;
  ~Inside() { --inside_traced; }
};

// A deferred operator runs as it would have when it was called: modes that were entered since do not see it, nor does a trace.
struct WithoutModes {
  Inside inside;
  NoGrad no_history;
  WithoutAutocast no_casts;
  bool functions = std::exchange(functions_disabled, true);
  bool handlers = std::exchange(handlers_disabled, true);
  bool traced = std::exchange(operators_are_traced, false);
  ~WithoutModes() {
    functions_disabled = functions;
    handlers_disabled = handlers;
    operators_are_traced = traced;
  }
};

// What a node's operator gives with these tensors and numbers.
std::vector<Tensor> run_node(const TreeNode&, std::span<const Tensor> inputs, std::span<const Scalar> parameters);

}  // namespace shim::trace
