#include "python/protocol.h"

#include <utility>

namespace shim {

OwnedRef Protocol::hook_of(PyTypeObject* type) const {
  if (type == TensorType || reinterpret_cast<PyObject*>(type) == ParameterType) return {};
  // A lookup that fails is slow for the error that it makes; classes of another metaclass may have the name there.
  if (Py_TYPE(type) == &PyType_Type && !_PyType_Lookup(type, attribute)) return {};
  OwnedRef hook{PyObject_GetAttr(reinterpret_cast<PyObject*>(type), attribute)};
  if (!hook.o) PyErr_Clear();
  return hook.o == disabled ? OwnedRef() : std::move(hook);
}

PyObject* Protocol::refused(const std::string& callable, const std::vector<PyObject*>& asked) const {
  std::string text =
      str("Multiple dispatch failed for '", callable, "'; all ", name, " handlers returned NotImplemented:\n\n");
  const auto add = [&](const char* what, PyObject* o) {
    const OwnedRef shown{PyObject_Repr(o)};
    text += str("  - ", what, " ", shown.o ? PyUnicode_AsUTF8(shown) : "?", "\n");
  };
  if (!modes().empty()) add("mode object", modes().back());
  for (PyObject* o : asked)
    add(is_tensor(o) ? "tensor subclass" : "object of", reinterpret_cast<PyObject*>(Py_TYPE(o)));
  text += "\nFor more information, try re-running with TORCH_LOGS=not_implemented";
  return PyErr_SetString(PyExc_TypeError, text.c_str()), nullptr;
}

void add_by_class(PyObject* o, std::vector<PyObject*>& found) {
  size_t at = found.size();
  for (size_t i = found.size(); i-- > 0;) {
    if (Py_TYPE(found[i]) == Py_TYPE(o)) return;
    if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(found[i]))) at = i;
  }
  found.insert(found.begin() + long(at), o);
}

OwnedRef classes_of(const std::vector<PyObject*>& found) {
  return OwnedRef(
      tuple_by(found.size(), [&](size_t i) { return Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(found[i]))); }));
}

PyObject* call_without(bool& off, PyObject* args) {
  PyObject *func, *types, *positional = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO", &func, &types, &positional, &kwargs)) return nullptr;
  const bool before = std::exchange(off, true);
  const OwnedRef tuple{positional ? PySequence_Tuple(positional) : PyTuple_New(0)};
  PyObject* result = tuple.o ? PyObject_Call(func, tuple, kwargs && kwargs != Py_None ? kwargs : nullptr) : nullptr;
  off = before;
  return result;
}

}  // namespace shim
