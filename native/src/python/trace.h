#pragma once
// Where calls of operators meet the trace of a compiled function (trace/session.h).
#include <optional>

#include "python/dispatch.h"
#include "trace/arguments.h"

namespace shim {

extern bool tracing;  // a compiled function runs
void set_tracing(bool);
extern int inside_traced;  // how many operators run at once, with whose own calls of operators nothing is done

// The session, if this thread's calls of operators are traced at the moment.
trace::Session* tracing_here(PyObject* const* args, size_t n);

// Runs an operator, or defers it where the tree of the compiled function knows it. `run` runs it at once.
PyObject* run_traced(Operator&, PyObject** args, size_t n, PyObject* (*run)(Operator&, PyObject**, size_t));
// Before memory of these arguments is touched without an operator that the trace sees.
void before_untraced(PyObject* const* args, size_t n);
// The native function of a composite: where it takes the call, it is one operator of the trace.
PyObject* run_native_traced(KernelCall native, Operator&, PyObject* const* args, size_t n, const Value* values);

// An operator that writes to its first argument: `deferred()`, or it is run while this lives and then learned.
class TracedInplace {
 public:
  TracedInplace(Operator&, PyObject* const* args, size_t n);
  ~TracedInplace();
  bool deferred() const { return deferred_; }
  void ran();

 private:
  Operator& op_;
  PyObject* const* args_;
  size_t n_;
  trace::Session* session_;
  std::optional<trace::TensorSpec> target_;
  bool deferred_ = false;
};

int bind_trace(PyObject* module);  // bind_trace.cpp

}  // namespace shim
