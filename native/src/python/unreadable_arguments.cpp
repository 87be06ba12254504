// Arguments of a right type whose value C++ cannot read.
#include "python/arguments.h"

namespace shim {

bool readable_int(PyObject* o) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow;
}

bool readable_text(PyObject* o) {
  if (PyUnicode_AsUTF8(o)) return true;
  PyErr_Clear();
  return false;
}

void raise_unreadable(const Argument& a, PyObject* value) {
  const ArgType& t = a.type;
  if (t.base == ArgType::Str || t.base == ArgType::Device)
    return PyErr_SetString(PyExc_RuntimeError, "error unpacking string as utf-8");
  const bool list = t.list && (PyTuple_Check(value) || PyList_Check(value));
  if (t.base == ArgType::Float) return PyErr_SetString(PyExc_OverflowError, "int too large to convert to float");
  if (!list) return PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
  Py_ssize_t at = 0;
  while (at + 1 < PySequence_Fast_GET_SIZE(value)) {
    PyObject* index = PyNumber_Index(PySequence_Fast_GET_ITEM(value, at));
    const bool fits = index && readable_int(index);
    Py_XDECREF(index);
    PyErr_Clear();
    if (!fits) break;
    ++at;
  }
  PyErr_Format(PyExc_TypeError,
      "%s(): argument '%s' failed to unpack the object at pos %zd with error \"Overflow when unpacking long long\"",
      binding_name, a.name.c_str(), at + 1);
}

}  // namespace shim
