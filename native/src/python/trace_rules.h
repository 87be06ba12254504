#pragma once
// What the trace of a compiled function asks of records, of Python's frames and of the process.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "trace/foreseen.h"

namespace shim {

const char* reason_against(Operator&);  // why its calls are never deferred; null: they may be
bool of_library(Operator&);
bool divides(Operator&);  // integers may be divided by zero, which is an error
const char* changes_shape(
    Operator&);                    // what to say of an operator whose results' shapes depend on values; null of others
void note_line(trace::TreeNode&);  // the user's line that runs
trace::Break who_asks(const char* reason);
extern PyObject *deferral_rule,
    *division_rule;  // of a record: None or why its calls run at once; whether integers may divide by zero
PyObject* described_node(const trace::TreeNode&);  // trace_described.cpp
extern PyObject* lowering;                         // (backend, nodes, given, wanted, tensors) -> a function
trace::Produced produced_by(PyObject* result);     // a null tensor in the place of each thing that is none
std::vector<Tensor> tensors_of(PyObject* result);
trace::Foreseen foreseen_call(trace::Session&, Operator&, PyObject* const* args, size_t n, bool writes,
    bool wants_gradient);  // trace_foresee.cpp
bool run_by_backend(trace::Session&, std::span<const trace::Session::Deferred>, std::vector<Ref<Storage>>& storages);
bool run_together(trace::Session&, std::span<const trace::Session::Deferred>, std::vector<Ref<Storage>>& storages);
std::vector<Tensor> execute_node(
    const trace::TreeNode&, std::span<const Tensor> inputs, std::span<const Scalar> parameters);

}  // namespace shim
