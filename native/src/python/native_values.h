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

inline PyObject* wrapped(const Tensor& t) { return t ? wrap(t) : nullptr; }   // null: not a native's

}  // namespace shim
