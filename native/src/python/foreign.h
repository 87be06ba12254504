#pragma once
// Objects of a PyTorch that is installed and imported in the same process: ours never takes them for its own.
#include <Python.h>

namespace shim {

bool is_foreign_tensor(PyObject* o);    // an instance of PyTorch's own tensor class
const char* foreign_note(PyObject* o);  // for error texts: whose object it is and what to do; "" for all others
const char* tensor_note(
    PyObject* o);  // that where a tensor is wanted, also for arrays of NumPy, CuPy, JAX and their like

}  // namespace shim
