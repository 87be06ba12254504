#pragma once
// Calls of compiled functions.
#include <optional>
#include <string_view>

#include "python/held_type.h"
#include "python/module_parameters.h"
#include "trace/trees.h"

namespace shim {

template <> struct module_call::Argument<trace::Trees&> : HeldArgument<trace::Trees> {};

struct FunctionCall {
  PyObject* function;
  PyObject* const* args;
  size_t n;  // as vectorcalls have it
  PyObject* names;
  PyObject* kwargs;  // a dict; else null, and `names` counts
};
struct TracedCall {
  bool watch = false, forbid = false, learns = true;
  std::optional<std::string_view> refusal = {};
};

// The function's result; `seen` is called with what happened. No other session may be there. `whole`: may come to know the call.
class WholeCalls;
PyObject* call_traced(
    trace::Trees&, const TracedCall&, const FunctionCall&, PyObject* seen, WholeCalls* whole = nullptr);
void set_session_hooks();
extern PyObject* unsupported_break;  // (reason, file, line) raises torch._dynamo.exc.Unsupported

// Whether no other thread of Python's is there.
inline bool alone() { return !PyThreadState_Next(PyInterpreterState_ThreadHead(PyThreadState_Get()->interp)); }

// Callers (trace_caller.cpp).
int make_caller_types();
PyObject* trace_caller(PyObject* function, PyObject* otherwise, PyObject* seen);
void trace_set_trees(PyObject* caller, PyObject* trees, bool forbids);
bool trace_is_current(PyObject* caller);
void trace_forget();
void trace_take_stance(bool plain);
PyObject* trace_entry(PyObject* function);

}  // namespace shim
