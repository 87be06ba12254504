// The module's functions about forward mode: levels and tangents.
#include <atomic>

#include "python/forward_mode.h"

namespace shim {

namespace {

std::atomic<uint64_t> next_level{1};
thread_local bool allowed = true;  // torch._C._set_fwd_grad_enabled

PyObject* enter_level(PyObject*, PyObject*) {
  if (forward_level()) return PyErr_Format(PyExc_RuntimeError, "Nested forward mode AD is not supported at the moment");
  forward_gradients() = allowed;
  forward_level() = next_level++;
  return PyLong_FromLong(0);
}

PyObject* leave_level(PyObject*, PyObject*) {
  if (!forward_level()) return PyErr_Format(PyExc_RuntimeError, "Trying to exit a forward AD level but none is open");
  forward_gradients() = 0;
  forward_level() = 0;
  Py_RETURN_NONE;
}

PyObject* put(PyObject*, PyObject* args) {  // (tensor, tangent)
  PyObject *t, *tangent;
  if (!PyArg_ParseTuple(args, "O!O!:_set_tangent", TensorBaseType, &t, TensorBaseType, &tangent)) return nullptr;
  set_tangent(Tensor(unwrap(t)), Tensor(unwrap(tangent)));
  Py_RETURN_NONE;
}

PyObject* get(PyObject*, PyObject* t) {
  return is_tensor(t) && forward_level() ? wrap(tangent_of(*unwrap(t))) : Py_NewRef(Py_None);
}
PyObject* open(PyObject*, PyObject*) { return PyBool_FromLong(forward_level() != 0); }
PyObject* pause(PyObject*, PyObject* on) {  // -> whether it was on; the level stays open
  const bool was = allowed;
  if (!PyBool_Check(on)) return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(on)->tp_name);
  allowed = on == Py_True;
  if (forward_level()) forward_gradients() = allowed;
  return PyBool_FromLong(was);
}

PyMethodDef forward_mode_functions[] = {{"_enter_dual_level", enter_level, METH_NOARGS, nullptr},
    {"_exit_dual_level", leave_level, METH_NOARGS, nullptr}, {"_set_tangent", put, METH_VARARGS, nullptr},
    {"_get_tangent", get, METH_O, nullptr}, {"_is_dual_level_open", open, METH_NOARGS, nullptr},
    {"_pause_tangents", pause, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_forward_mode(PyObject* module) { return PyModule_AddFunctions(module, forward_mode_functions); }

}  // namespace shim
