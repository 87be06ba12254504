#pragma once

#include <utility>

#include "python/object.h"

namespace shim {

// An owned reference, or null; given up at the end of its scope.
struct OwnedRef {
  PyObject* o = nullptr;
  OwnedRef() = default;
  explicit OwnedRef(PyObject* p) : o(p) {}
  OwnedRef(OwnedRef&& h) noexcept : o(h.o) { h.o = nullptr; }
  OwnedRef& operator=(OwnedRef&& h) noexcept {
    std::swap(o, h.o);
    return *this;
  }
  ~OwnedRef() { Py_XDECREF(o); }
  operator PyObject*() const { return o; }

  PyObject* give() {
    PyObject* p = o;
    o = nullptr;
    return p;
  }
};

// The same of a call that must have given something: Python's error goes on as an exception.
inline OwnedRef owned(PyObject* p) {
  if (!p) throw PythonError();
  return OwnedRef(p);
}

}  // namespace shim
