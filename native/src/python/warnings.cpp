// Warnings given once a process, or always after torch.set_warn_always(True).
#include "core/warning.h"
#include "python/object.h"

#include <frameobject.h>  // Python 3.10 has its functions only there
#include <cstring>

namespace shim {
namespace {

bool always = false;

PyObject* set_warn_always(PyObject*, PyObject* on) {
  if (!PyBool_Check(on))
    return PyErr_Format(PyExc_TypeError, "setWarnOnlyOnce expects a bool, but got %s", Py_TYPE(on)->tp_name);
  always = on == Py_True;
  Py_RETURN_NONE;
}

PyObject* warn_always(PyObject*, PyObject*) { return PyBool_FromLong(always); }

PyMethodDef warnings_functions[] = {{"set_warn_always", set_warn_always, METH_O, nullptr},
    {"warn_always", warn_always, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

// The stacklevel of the nearest Python code that is not the package's own. While a proxy is enabled its modules are named torch;
// __package__ stays.
Py_ssize_t level_outside() {
  Py_ssize_t level = 1;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    PyObject* names = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_globals");
    PyObject* name = names ? PyDict_GetItemString(names, "__package__") : nullptr;
    const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    bool own = text && std::strncmp(text, "shim_torch", 10) == 0;
    Py_XDECREF(names);
    if (PyErr_Occurred()) PyErr_Clear();
    PyFrameObject* back = own ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = back;
    if (frame) ++level;
  }
  return level;
}

int warn_once(bool* given, const char* text) {
  if (*given && !always) return 0;
  *given = true;
  return PyErr_WarnEx(PyExc_UserWarning, text, level_outside());
}

int bind_warnings(PyObject* module) {
  warning_given = [](const char* text) {
    GilAcquire gil;
    if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) throw PythonError();
  };
  return PyModule_AddFunctions(module, warnings_functions);
}

}  // namespace shim
