#include "python/foreign.h"

#include <string_view>

#include "python/object.h"

namespace shim {
namespace {

// PyTorch's static types carry their module in tp_name; ours are looked for by identity.
bool inherits(PyTypeObject* type, std::string_view name) {
  PyObject* bases = type->tp_mro;
  for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    if (base != TensorBaseType && name == base->tp_name) return true;
  }
  return false;
}

}  // namespace

bool is_foreign_tensor(PyObject* o) { return !is_tensor(o) && inherits(Py_TYPE(o), "torch._C.TensorBase"); }

const char* foreign_note(PyObject* o) {
  if (is_foreign_tensor(o))
    return " of the PyTorch that is installed here; exchange it with torch.from_dlpack(tensor), which copies nothing";
  std::string_view name = Py_TYPE(o)->tp_name;
  if (name == "torch.dtype" && !is_dtype(o))
    return " of the PyTorch that is installed here; give the one of the same name of this torch";
  if (name == "torch.device" && !is_device(o)) return " of the PyTorch that is installed here; give str(device)";
  return "";
}

const char* tensor_note(PyObject* o) {
  static PyObject* const exchange = PyUnicode_InternFromString("__dlpack__");
  if (std::string_view(Py_TYPE(o)->tp_name) == "numpy.ndarray")
    return "; torch.as_tensor(array) is a tensor over its memory";
  if (!is_tensor(o) && !is_foreign_tensor(o) && _PyType_Lookup(Py_TYPE(o), exchange))
    return "; torch.from_dlpack(array) is a tensor over its memory";
  return foreign_note(o);
}

}  // namespace shim
