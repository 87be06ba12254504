#pragma once
// Entries of the tensor type's tables, made of C++ functions over TensorImpl:
//   attribute<[](TensorImpl& t) { return t.dim(); }>("ndim"), method<...>("dim")
#include "python/module_parameters.h"

namespace shim {

template <auto F> PyObject* of_tensor(PyObject* self) {
  return guarded([&]() -> PyObject* { return module_call::object(F(*unwrap(self))); });
}
template <auto F> PyGetSetDef attribute(const char* name, setter set = nullptr) {
  return {name, [](PyObject* self, void*) { return of_tensor<F>(self); }, set, nullptr, nullptr};
}
template <auto F> PyMethodDef method(const char* name, const char* doc = nullptr, int arguments = METH_NOARGS) {
  return {name, [](PyObject* self, PyObject*) { return of_tensor<F>(self); }, arguments, doc};
}

}  // namespace shim
