// torch.return_types: the named tuples that operators with several named results give.

#include <unordered_map>

#include "python/dispatch.h"
#include "python/module_function.h"

namespace shim {
namespace {

// "torch.return_types.max(\nvalues=...,\nindices=...)"
PyObject* repr(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject* text = PyUnicode_FromFormat("%s(", type->tp_name);
  const Py_ssize_t n = PyTuple_GET_SIZE(self);
  for (Py_ssize_t i = 0; text && i < n; ++i) {
    const OwnedRef value{PyObject_Repr(PyTuple_GET_ITEM(self, i))};
    const char* end = i + 1 < n ? "," : ")";
    Py_SETREF(
        text, value.o ? PyUnicode_FromFormat("%U\n%s=%U%s", text, type->tp_members[i].name, value.o, end) : nullptr);
  }
  return text;
}

// The type torch.return_types.<name> (borrowed), made when first needed; one for each name and fields.
PyTypeObject* return_type(const std::string& name, const std::vector<std::string>& names) {
  static std::unordered_map<std::string, PyTypeObject*> types;
  std::string key = name;
  for (auto& field : names) key += "," + field;
  PyTypeObject*& type = types[key];
  if (type) return type;
  auto* fields = new PyStructSequence_Field[names.size() + 1]{};  // the type keeps the names
  for (size_t i = 0; i < names.size(); ++i) fields[i].name = strdup(names[i].c_str());
  PyStructSequence_Desc d{strdup(("torch.return_types." + name).c_str()), "", fields, int(names.size())};
  type = PyStructSequence_NewType(&d);
  if (type) type->tp_repr = repr;
  return type;
}

PyObject* named_type(std::string_view name, std::vector<std::string> fields) {
  return Py_XNewRef(reinterpret_cast<PyObject*>(return_type(std::string(name), fields)));
}

const ModulePart return_types_functions{
    {function<&named_type>("return_type", "(\"max\", (\"values\", \"indices\")): the type torch.return_types.max.")}};

}  // namespace

PyObject* name_results(Operator& op, PyObject* result) {
  if (result && PyList_CheckExact(result) && op.schema.returns.size() == 1 && op.schema.returns[0].type.list &&
      op.schema.returns[0].type.base == ArgType::Tensor) {
    Py_SETREF(result, PyList_AsTuple(result));  // what a body took over from torch.ops
    return result;
  }
  if (!result || !PyTuple_CheckExact(result) || op.schema.returns.size() < 2 || op.schema.returns[0].name.empty())
    return result;
  const size_t n = op.schema.returns.size();
  if (size_t(PyTuple_GET_SIZE(result)) != n) return result;
  std::vector<std::string> fields;
  for (auto& r : op.schema.returns) fields.push_back(r.name);
  PyTypeObject* type = return_type(op.out || op.out_count ? op.schema.name + "_out" : op.schema.name, fields);
  PyObject* named = type ? PyStructSequence_New(type) : nullptr;
  for (size_t i = 0; named && i < n; ++i)
    PyStructSequence_SetItem(named, Py_ssize_t(i), Py_NewRef(PyTuple_GET_ITEM(result, i)));
  Py_DECREF(result);
  return named;
}

}  // namespace shim
