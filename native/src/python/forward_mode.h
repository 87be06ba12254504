#pragma once
// Calls of operators with arguments that carry tangents (autograd/forward_mode.h).
#include "autograd/forward_mode.h"
#include "python/dispatch.h"

namespace shim {

bool any_tangent(PyObject* const* args, size_t n);  // looks into tuples and lists
// NotImplementedError of the operators of which PyTorch has no forward-mode formula.
void check_forward_mode(const Operator&, PyObject* const* args, size_t n);
PyObject* call_with_tangents(Operator&, PyObject* const* args, size_t n);  // gives the results theirs
PyObject* run_inplace_with_tangents(Operator&, PyObject** args, size_t n, bool history);
int bind_forward_mode(PyObject* module);

}  // namespace shim
