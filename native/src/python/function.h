#pragma once
// torch.autograd.Function: the ctx object (function_object.cpp), and what is between it and its node (function_node.cpp).
#include "autograd/function_node.h"
#include "python/autograd_python.h"

namespace shim {

struct PyFunction {  // ctx; also the grad_fn of the results
  PyObject_HEAD PyObject *dict, *weakrefs;
  PyObject *needs_input_grad, *to_save, *non_differentiable, *dirty_tensors, *saved_for_forward;
  FunctionContext own;
};

inline PyFunction* as_function(PyObject* ctx) { return reinterpret_cast<PyFunction*>(ctx); }
FunctionOutputs::Impls impls_of(PyObject* const* args, size_t n);  // null where one is no tensor
FunctionOutputs::Impls impls_in(PyObject* tuple);                  // none where it is no tuple

// Gives the results of forward their history; `args` are apply()'s. A new tuple; null with an error set.
PyObject* wrap_outputs(
    PyFunction* ctx, const Ref<FunctionNode>& node, PyObject* const* args, size_t nargs, PyObject* outputs);
// Function.apply, and the same past functorch's rules (function_apply.cpp).
PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* function_apply_directly(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
bool save_variables(PyFunction* ctx, const Ref<FunctionNode>& node);
void set_function_calls();  // autograd/function_node.h

}  // namespace shim
