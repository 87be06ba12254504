#pragma once
// NumPy's state around a body: what `with numpy.errstate(all="ignore")` sets, without its cost, and aligned memory.

#include "ops/kernels.h"
#include "python/body_plan.h"
#include "python/owned_ref.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <numpy/arrayobject.h>

namespace shim {

namespace {

// What `with numpy.errstate(all="ignore")` sets, without its cost. Null where NumPy has no such variable (before 2.0):
// then the steps in Python serve.
PyObject *error_variable = nullptr, *error_ignored = nullptr, *xp = nullptr;

inline bool load_state() {
  xp = PyImport_ImportModule("numpy");
  OwnedRef umath(PyImport_ImportModule("numpy._core.umath"));
  if (!umath.o) PyErr_Clear();
  PyObject* variable = umath.o ? PyObject_GetAttrString(umath.o, "_extobj_contextvar") : nullptr;
  OwnedRef make(variable ? PyObject_GetAttrString(umath.o, "_make_extobj") : nullptr);
  OwnedRef none(PyTuple_New(0)), all(Py_BuildValue("{ss}", "all", "ignore"));
  if (make.o && (error_ignored = PyObject_Call(make.o, none.o, all.o))) error_variable = variable;
  PyErr_Clear();
  return xp != nullptr;
}

class Quiet {
 public:
  Quiet() {
    token_ = PyContextVar_Set(error_variable, error_ignored);
    old_ = PyDataMem_SetHandler(aligned_handler());
    if (!old_) throw PythonError();
  }
  ~Quiet() {  // keeps a Python error that is on its way
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    OwnedRef ours(PyDataMem_SetHandler(old_));
    Py_DECREF(old_);
    if (token_) {
      if (PyContextVar_Reset(error_variable, token_) < 0) PyErr_Clear();
      Py_DECREF(token_);
    }
    PyErr_Restore(type, value, trace);
  }

 private:
  PyObject *token_ = nullptr, *old_ = nullptr;
};

}  // namespace

}  // namespace shim
