#pragma once
// Objects of tensors and storages that carry state of their own (attributes, a class, weak references): they outlive their last
// reference in Python while C++ holds what they stand for, which owns them from then on, so that the same object comes back.
#include "python/autograd_python.h"

namespace shim {

// A finalizer's part: whether `held` keeps its object now. The caller's reference to `held` is given up.
template <class T> bool keep_object(PyObject* self, T* held, bool state) {
  if (!held || held->pyobj != self || held->owns_pyobj || held->use_count() < 2 || !state) return false;
  Py_INCREF(self);
  held->owns_pyobj = true;
  held->release();  // the object's; somebody else holds it
  return true;
}

// What `held` keeps goes to the caller, and holds it again.
template <class T> PyObject* take_object(T& held) {
  held.owns_pyobj = false;
  held.retain();
  auto* o = static_cast<PyObject*>(held.pyobj);
  may_be_finalized_again(o);
  return o;
}

// The last reference went to what keeps an object, which holds it alone now: until its own end, or for whom a weak reference gave it to.
template <class T> bool hand_over(T& held) {
  if (!python_lives()) return false;
  GilAcquire gil;
  Py_DECREF(take_object(held));
  return true;
}

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
