// Warnings given once a process, or always after torch.set_warn_always(True).
#include "python/object.h"

namespace shim {
namespace {

bool always = false;

PyObject* set_warn_always(PyObject*, PyObject* on) {
  if (!PyBool_Check(on)) return PyErr_Format(PyExc_TypeError, "setWarnOnlyOnce expects a bool, but got %s", Py_TYPE(on)->tp_name);
  always = on == Py_True;
  Py_RETURN_NONE;
}

PyObject* warn_always(PyObject*, PyObject*) { return PyBool_FromLong(always); }

PyMethodDef warnings_functions[] = {{"set_warn_always", set_warn_always, METH_O, nullptr}, {"warn_always", warn_always, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int warn_once(bool* given, const char* text) {
  if (*given && !always) return 0;
  *given = true;
  return PyErr_WarnEx(PyExc_UserWarning, text, 1);
}

int bind_warnings(PyObject* module) { return PyModule_AddFunctions(module, warnings_functions); }

}  // namespace shim
