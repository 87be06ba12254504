#pragma once

#include <Python.h>

#include <utility>

#include "python/object.h"

namespace shim {

// An owned reference, or null; given up at the end of its scope.
struct Held {
  PyObject* o = nullptr;
  Held() = default;
  explicit Held(PyObject* p) : o(p) {}
  Held(Held&& h) noexcept : o(h.o) { h.o = nullptr; }
  Held& operator=(Held&& h) noexcept {
    std::swap(o, h.o);
    return *this;
  }
  ~Held() { Py_XDECREF(o); }
  operator PyObject*() const { return o; }

  PyObject* give() {
    PyObject* p = o;
    o = nullptr;
    return p;
  }
};

// The same of a call that must have given something: Python's error goes on as an exception.
inline Held held(PyObject* p) {
  if (!p) throw PythonError();
  return Held(p);
}

}  // namespace shim
