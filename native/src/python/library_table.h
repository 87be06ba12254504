#pragma once
// Kernels of torch.library that stand in for PyTorch's own operators.
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/arguments.h"

namespace shim {

extern bool aten_kernels;  // one was registered for an operator of aten, once

// What this thread runs: below autograd, whose history is seen to then; and the operator of this name, whose next call is
// not its kernels' (null: none).
extern thread_local constinit bool below_autograd;
extern thread_local constinit const char* passed_over;

struct OperatorParts {  // of a composite
  PyObject* body;
  std::vector<std::pair<std::string, std::string>> names;  // of the operators it calls: name, overload
};
std::unordered_map<const Operator*, OperatorParts>& parts_of();

// A composite of PyTorch's that is one operator here, one of whose parts has a kernel from Python: its parts run instead.
// Not where that would lose gradients. *done: they ran.
PyObject* run_as_parts(const Operator&, PyObject* const* args, size_t n, bool* done);

// trace_run.cpp: between the two, reading values breaks no graph of a compiled function.
void enter_operator();
void leave_operator();

}  // namespace shim
