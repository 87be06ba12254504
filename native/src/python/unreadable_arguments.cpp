// Arguments of a right type whose value C++ cannot read.
#include "python/arguments.h"
#include "python/owned_ref.h"

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
  const bool list = a.type.list && (PyTuple_Check(value) || PyList_Check(value));
  Py_ssize_t at = 0;
  while (list && at + 1 < PySequence_Fast_GET_SIZE(value)) {
    const OwnedRef index{PyNumber_Index(PySequence_Fast_GET_ITEM(value, at))};
    const bool fits = index.o && readable_int(index);
    PyErr_Clear();
    if (!fits) break;
    ++at;
  }
  raise(unreadable_error(a, binding_name, size_t(at), list));
}

}  // namespace shim
