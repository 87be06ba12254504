#pragma once
// Functions of the module that take integers only: fn(const long long*) -> PyObject*, pointers being integers to Python.
#include "python/object.h"

namespace shim {

template <int N, PyObject* (*F)(const long long*)> PyObject* with_ints(PyObject*, PyObject* const* args, Py_ssize_t n) {
  long long values[N ? N : 1];
  if (n != N) return PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", N, n);
  for (int i = 0; i < N; ++i) {
    values[i] = PyLong_AsLongLong(args[i]);
    if (values[i] == -1 && PyErr_Occurred()) return nullptr;
  }
  return guarded([&]() -> PyObject* { return F(values); });
}

inline PyObject* none() { Py_RETURN_NONE; }
inline PyObject* integer(long long v) { return PyLong_FromLongLong(v); }
template <class T> T handle(long long v) { return reinterpret_cast<T>(static_cast<intptr_t>(v)); }
template <class T> PyObject* pointer(T p) { return PyLong_FromVoidPtr(reinterpret_cast<void*>(p)); }

#define SHIM_INT_FUNCTION(name, n, f) \
  {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&with_ints<n, f>)), METH_FASTCALL, nullptr}

int bind_cuda_memory(PyObject* module);  // bind_cuda_memory.cpp
int bind_cache(PyObject* module);        // bind_cache.cpp

}  // namespace shim
