#pragma once
// Calls of operators with Python's objects.
#include "autograd/autocast.h"
#include "dispatch/call.h"
#include "python/arguments.h"

namespace shim {

PyObject* call_operator(Operator&, Bound&);           // after __torch_function__ had its say
PyObject* name_results(Operator&, PyObject* result);  // steals; a tuple becomes torch.return_types.max

// torch_function.cpp
PyObject* call_torch_function(
    PyObject* callable, const CallArgs&, Bound*);  // NotImplemented-style fallthrough: returns null without error
bool torch_function_mode_active();
bool torch_function_enabled();
int bind_torch_function(PyObject* module);
int bind_torch_dispatch(PyObject* module);  // bind_torch_dispatch.cpp

void install_calls();  // call.cpp

// define.cpp
std::vector<Formula> formulas_of(PyObject* dict);  // {"input, input": callable}
void attach_formulas(PythonOperator& op);  // those of a record whose module was not imported when it was defined

}  // namespace shim
