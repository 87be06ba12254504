#pragma once
// Calls of a compiled function whose Python need not run again (trace/known_calls.h), and the names that it reads.
#include <optional>
#include <vector>

#include "python/owned_ref.h"
#include "python/trace_call.h"
#include "trace/known_calls.h"

namespace shim {

extern PyObject* names_read;  // compile/straight.py's: what a function reads beside its arguments, or None

class WholeCalls final : public RefCounted {
 public:
  using Attempt = trace::KnownCalls::Attempt;
  WholeCalls() = default;
  ~WholeCalls() override { Py_XDECREF(reads_); }

  // The result of a call that is like a known one; null without an error: none is, or one is running (a finalizer calls).
  PyObject* call(const FunctionCall&);
  std::optional<Attempt> attempt(const FunctionCall&);
  void look(Attempt&, const trace::Session&, PyObject* result);
  void keep(Attempt, const trace::Session&);
  PyObject* reads() const { return reads_; }  // a tuple; None: its calls are never known; null: it was not asked for

 private:
  bool reads_hold() const;
  void ask(PyObject* function);
  PyObject* reads_ = nullptr;
  std::vector<PyObject*> held_;  // the tensors among that
  unsigned methods_ = 0;         // CPython's number of what attributes tensors have; 0: it has none
  trace::KnownCalls known_;
  std::vector<Tensor> results_;  // it keeps its room
  bool runs_ = false;
};

}  // namespace shim
