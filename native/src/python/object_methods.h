#pragma once
// object_method<&resize>("resize_"), object_attribute<...>("device"): entries of a type's tables, derived as functions of the module are
// (python/module_function.h) from C++ functions whose first parameter is the object.
#include "python/module_function.h"

namespace shim {
namespace module_call {

template <auto F> PyObject* of_object(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  constexpr Py_ssize_t most = 15;
  if (n > most) return PyErr_Format(PyExc_TypeError, "too many arguments");
  PyObject* all[most + 1] = {self};
  std::copy_n(args, n, all + 1);
  return module_function<F>(nullptr, all, n + 1);
}
template <auto F, auto names>
PyObject* named_of_object(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  constexpr Py_ssize_t most = 15;
  const Py_ssize_t words = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (n + words > most) return PyErr_Format(PyExc_TypeError, "too many arguments");
  PyObject* all[most + 1] = {self};
  std::copy_n(args, n + words, all + 1);
  return named_module_function<F, names>(nullptr, all, n + 1, keywords);
}

}  // namespace module_call

template <auto F> PyMethodDef object_method(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&module_call::of_object<F>)), METH_FASTCALL,
      doc};
}
template <auto F, module_call::Names names> PyMethodDef object_method(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&module_call::named_of_object<F, names>)),
      METH_FASTCALL | METH_KEYWORDS, doc};
}
// Methods that CPython counts the arguments of: none, and one.
template <auto F> PyMethodDef method_of_none(const char* name) {
  return {name, [](PyObject* self, PyObject*) { return module_call::module_function<F>(nullptr, &self, 1); },
      METH_NOARGS, nullptr};
}
template <auto F> PyMethodDef method_of_one(const char* name) {
  return {name,
      [](PyObject* self, PyObject* given) {
        PyObject* both[] = {self, given};
        return module_call::module_function<F>(nullptr, both, 2);
      },
      METH_O, nullptr};
}
template <auto F> PyMethodDef static_method(const char* name) {
  PyMethodDef m = function<F>(name);
  m.ml_flags |= METH_STATIC;
  return m;
}
template <auto F> PyGetSetDef object_attribute(const char* name, const char* doc = nullptr) {
  return {name, [](PyObject* self, void*) { return module_call::module_function<F>(nullptr, &self, 1); }, nullptr, doc,
      nullptr};
}

}  // namespace shim
