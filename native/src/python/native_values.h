#pragma once
// What natives read of their arguments, on whatever device.
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {

inline Tensor tensor_or_none(PyObject* o) { return o == Py_None ? Tensor{} : Tensor(unwrap(o)); }

inline bool integer_of(PyObject* o, int64_t* value) {  // a plain int that fits
  int overflow = 0;
  if (!PyLong_CheckExact(o)) return false;
  *value = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow;
}

// Whether what is made of the arguments is differentiable.
inline bool history(PyObject* const* args, size_t n) { return GradMode::enabled() && any_requires_grad(args, n); }

inline PyObject* wrapped(const Tensor& t) { return t ? wrap(t) : nullptr; }  // null: not a native's

// The first of the results of another native; nothing where `all` is nothing.
inline PyObject* first_of(PyObject* all) {
  if (!all) return nullptr;
  PyObject* first = Py_NewRef(PyTuple_GET_ITEM(all, 0));
  Py_DECREF(all);
  return first;
}

}  // namespace shim
