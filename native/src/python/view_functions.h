#pragma once
// Methods of the tensor type that take a view's steps from another base.
#include "python/object.h"

namespace shim {

PyObject* view_func(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* view_func_unsafe(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* rev_view_func_unsafe(PyObject* self, PyObject* view);
bool set_view_replay(PyObject* on);  // of this thread; returns what it was
bool is_view_replay();

}  // namespace shim
