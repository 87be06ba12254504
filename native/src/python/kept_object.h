#pragma once
// Objects of tensors and storages that carry state of their own (attributes, a class, weak references): they outlive their last
// reference in Python while C++ holds what they stand for, which owns them from then on, so that the same object comes back.
#include "python/autograd_python.h"

namespace shim {

// A finalizer's part: whether `held` keeps its object now. The caller's reference to `held` is given up.
bool keep_object(PyObject* self, RefCounted* held);
template <class T> bool keep_object(PyObject* self, T* held, bool state) {
  return state && held && held->pyobj == self && !held->keeps_object() && keep_object(self, held);
}
// What `held` keeps goes to the caller, and holds it again.
PyObject* take_object(RefCounted& held, void* object);
bool left_alone(RefCounted*);  // RefCounted's

// Classes of Python's with `__del__` are finalized by a function of the interpreter's: `own` comes first for them.
inline destructor python_finalizer() {
  static const destructor found = [] {
    PyObject* type =
        PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){sO}", "_", "__del__", Py_None);
    const destructor f = type ? reinterpret_cast<PyTypeObject*>(type)->tp_finalize : nullptr;
    Py_XDECREF(type);
    return f;
  }();
  return found;
}
template <bool (*own)(PyObject*)> void finalize_first(PyObject* self) {
  if (!own(self)) python_finalizer()(self);
}
template <bool (*own)(PyObject*)> void note_finalizer(PyTypeObject* type) {
  if (type->tp_finalize == python_finalizer()) type->tp_finalize = finalize_first<own>;
}

}  // namespace shim
