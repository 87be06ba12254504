// Warnings given once a process, or always after torch.set_warn_always(True).
#include "core/warning.h"
#include "python/frames.h"
#include "python/module_function.h"

#include <frameobject.h>  // Python 3.10 has its functions only there

namespace shim {
namespace {

void set_warn_always(PyObject* on) {
  CHECK(Kind::Runtime, PyBool_Check(on), "setWarnOnlyOnce expects a bool, but got ", Py_TYPE(on)->tp_name);
  warns_always = on == Py_True;
}

int install_warnings(PyObject*) {
  warning_given = [](const char* text) {
    GilAcquire gil;
    if (PyErr_WarnEx(PyExc_UserWarning, text, level_outside()) < 0) throw PythonError();
  };
  return 0;
}

const ModulePart warnings_functions{
    {function<&set_warn_always>("set_warn_always"), function<[] { return bool(warns_always); }>("warn_always")},
    install_warnings};
}  // namespace

// The stacklevel of the nearest Python code that is not the package's own. While a proxy is enabled its modules are named torch;
// __package__ stays.
Py_ssize_t level_outside() {
  Py_ssize_t level = 1;
  for (OwnedRef frame = current_frame(); frame.o && package_of(frame).starts_with("shim_torch");) {
    frame = frame_behind(frame);
    if (frame.o) ++level;
  }
  return level;
}

OwnedRef current_frame() { return OwnedRef(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame()))); }
OwnedRef frame_behind(PyObject* frame) {
  return OwnedRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame))));
}
std::string package_of(PyObject* frame) {
  const OwnedRef names{PyObject_GetAttrString(frame, "f_globals")};
  PyObject* name = names.o ? PyDict_GetItemString(names, "__package__") : nullptr;
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  PyErr_Clear();
  return text ? text : "";
}

int warn_once(bool* given, const char* text) {
  if (*given && !warns_always) return 0;
  *given = true;
  return PyErr_WarnEx(PyExc_UserWarning, text, level_outside());
}

}  // namespace shim
