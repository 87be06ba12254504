#pragma once
// Calls of a compiled function whose Python need not run again (trace/whole.h).
#include <memory>
#include <optional>
#include <vector>

#include "python/owned_ref.h"
#include "python/trace_call.h"
#include "trace/whole.h"

namespace shim {

extern PyObject* names_read;  // compile/straight.py's: what a function reads beside its arguments, or None

class WholeCalls {
 public:
  WholeCalls() = default;
  WholeCalls(const WholeCalls&) = delete;
  ~WholeCalls() { Py_XDECREF(reads_); }

  // The result of a call that is like a known one; null without an error: none is.
  PyObject* call(const FunctionCall&);
  // What is looked at of a call that is no known one.
  struct Attempt {
    std::vector<PyObject*> constants;  // the arguments; null for tensors
    std::vector<TensorImpl*> tensors;
    std::vector<trace::TensorSpec> specs;  // and versions, before the call
    std::vector<uint32_t> versions;
    std::unique_ptr<trace::Whole> whole;
    bool tuple = false;
  };
  std::optional<Attempt> attempt(const FunctionCall&);
  void look(Attempt&, const trace::Session&, PyObject* result);  // before what was deferred runs
  void keep(Attempt, const trace::Session&, const FunctionCall&);
  PyObject* reads() const { return reads_; }  // a tuple; None: its calls are never known; null: it was not asked for

 private:
  struct Known {
    std::vector<OwnedRef> constants;
    OwnedRef names;  // of keywords
    std::unique_ptr<trace::Whole> whole;
    bool tuple;
  };
  bool takes(const Known&, const FunctionCall&, std::vector<TensorImpl*>& tensors) const;
  bool reads_hold() const;
  void ask(PyObject* function);
  static constexpr size_t kMostKnown = 8;
  static constexpr int kMostAttempts = 16;
  PyObject* reads_ = nullptr;
  std::vector<PyObject*> held_;  // the tensors among that
  unsigned methods_ = 0;         // CPython's number of what attributes tensors have; 0: it has none
  int calls_ = 0, attempts_ = 0;
  std::vector<Known> known_;
  std::vector<TensorImpl*> tensors_;  // of the call that is looked at, and what it gives; they keep their room
  std::vector<Tensor> results_;
};

}  // namespace shim
