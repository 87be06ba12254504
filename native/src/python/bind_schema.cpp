// Schemas as Python data: torch._ops builds FunctionSchema and Argument objects from it.
#include "ops/schema_names.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"

namespace shim {
namespace {

PyObject* alias_data(const std::optional<Alias>& a) {
  if (!a) Py_RETURN_NONE;
  auto names = [](const std::vector<std::string>& v) {
    PyObject* set = PySet_New(nullptr);
    for (auto& n : v) {
      PyObject* s = PyUnicode_FromString(n.c_str());
      PySet_Add(set, s);
      Py_DECREF(s);
    }
    return set;
  };
  return Py_BuildValue("NNN", PyBool_FromLong(a->write), names(a->before), names(a->after));
}

PyObject* argument_data(const std::string& name, const ArgType& t, const std::optional<Alias>& alias,
    PyObject* fallback, bool kwarg_only, bool is_out) {
  PyObject* size = t.list_size >= 0 ? PyLong_FromLong(t.list_size) : Py_NewRef(Py_None);
  return Py_BuildValue("ssONNNNNs", name.c_str(), jit_type(t).c_str(), fallback ? fallback : Py_None,
      PyBool_FromLong(fallback != nullptr), PyBool_FromLong(kwarg_only), PyBool_FromLong(is_out), alias_data(alias),
      size, type_text(t, alias).c_str());
}

PyObject* schema_data(
    const PythonOperator& op) {  // (ns, name, overload, text, arguments, returns, mutable, varargs, varreturns)
  const Schema& s = op.schema;
  PyObject *args = PyList_New(0), *returns = PyList_New(0);
  for (size_t i = 0; i < s.args.size(); ++i) {
    const Argument& a = s.args[i];
    PyObject* d = argument_data(a.name, a.type, a.alias, op.slots[i].fallback, a.kwarg_only, a.is_out);
    if (!d) return nullptr;
    PyList_Append(args, d);
    Py_DECREF(d);
  }
  for (const Return& r : s.returns) {
    PyObject* d = argument_data(r.name, r.type, r.alias, nullptr, false, false);
    PyList_Append(returns, d);
    Py_DECREF(d);
  }
  return Py_BuildValue("ssssNNNNN", s.ns.c_str(), s.name.c_str(), s.overload.c_str(), s.text().c_str(), args, returns,
      PyBool_FromLong(s.is_mutable()), PyBool_FromLong(s.varargs), PyBool_FromLong(s.varreturns));
}

PyObject* operator_schema(PyObject*, PyObject* args) {  // (qualified, overload)
  const char *qualified, *overload;
  if (!PyArg_ParseTuple(args, "ss", &qualified, &overload)) return nullptr;
  Operator* op = find_operator(qualified, overload);
  if (!op) {
    PyErr_Format(PyExc_RuntimeError, "operator %s.%s does not exist", qualified, overload);
    return nullptr;
  }
  return schema_data(python_of(*op));
}

PyObject* py_parse(PyObject*, PyObject* text) {  // (schema text) -> data
  const char* s = PyUnicode_AsUTF8(text);
  if (!s) return nullptr;
  return guarded([&]() -> PyObject* {
    PythonOperator op;
    op.schema = parse_schema(s);
    prepare_slots(op);
    return PyErr_Occurred() ? nullptr : schema_data(op);
  });
}
PyObject* py_normal(PyObject*, PyObject* text) {  // (schema text) -> normal form
  const char* s = PyUnicode_AsUTF8(text);
  if (!s) return nullptr;
  return guarded([&]() -> PyObject* { return PyUnicode_FromString(parse_schema(s).text().c_str()); });
}

PyObject* text_of(std::string_view s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }

PyObject* py_names(PyObject*, PyObject* text) {  // (ns, name, overload, key, argument names)
  const char* s = PyUnicode_AsUTF8(text);
  if (!s) return nullptr;
  return guarded([&]() -> PyObject* {
    const SchemaNames names = schema_names(s);
    OwnedRef tuple = owned(PyTuple_New(Py_ssize_t(names.arguments.size())));
    for (size_t i = 0; i < names.arguments.size(); ++i) {
      PyObject* name = owned(text_of(names.arguments[i])).give();
      PyUnicode_InternInPlace(&name);
      PyTuple_SET_ITEM(tuple.o, Py_ssize_t(i), name);
    }
    return Py_BuildValue(
        "NNNNN", text_of(names.ns), text_of(names.name), text_of(names.overload), text_of(names.key), tuple.give());
  });
}

PyMethodDef schema_functions[] = {
    {"schema_names", py_names, METH_O,
        "(namespace, name, overload, key, argument names) of a schema, unparsed otherwise."},
    {"operator_schema", operator_schema, METH_VARARGS, "The schema of an overload as plain data."},
    {"parse_schema_data", py_parse, METH_O, "A parsed schema as plain data."},
    {"normalize_schema", py_normal, METH_O, "The normal form of a schema."}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_schema(PyObject* module) { return PyModule_AddFunctions(module, schema_functions); }

}  // namespace shim
