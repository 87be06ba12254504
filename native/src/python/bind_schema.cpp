// Schemas as Python data: torch._ops builds FunctionSchema and Argument objects from it.
#include <string_view>

#include "python/dispatch.h"

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

// PyTorch's JIT spelling of a type: Optional[Tensor], List[int], number.
std::string jit_type(const ArgType& t) {
  static const char* names[] = {"Tensor", "number", "int", "float", "bool", "str", "int", "int", "Device", "int",
      "Generator", "Stream", "Storage", "Dimname", "Any"};
  std::string s = !t.other.empty() ? t.other : t.symint ? "SymInt" : names[t.base];
  if (t.list) s = "List[" + (t.element_optional ? "Optional[" + s + "]" : s) + "]";
  return t.optional ? "Optional[" + s + "]" : s;
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

// (ns, name, overload, key, argument names) by one pass over the text, without parsing types: records are many.
PyObject* py_names(PyObject*, PyObject* text) {
  const char* s = PyUnicode_AsUTF8(text);
  if (!s) return nullptr;
  const std::string_view whole(s);
  const size_t open = whole.find('('), arrow = whole.rfind("->");
  if (open == whole.npos || arrow == whole.npos || arrow < open)
    return PyErr_Format(PyExc_TypeError, "not a schema: %s", s);
  std::string_view qualified = whole.substr(0, open);
  while (!qualified.empty() && qualified.back() == ' ') qualified.remove_suffix(1);
  const size_t colons = qualified.rfind("::");
  const std::string_view ns = colons == qualified.npos ? "aten" : qualified.substr(0, colons);
  const std::string_view full = colons == qualified.npos ? qualified : qualified.substr(colons + 2);
  const size_t dot = full.find('.');
  const std::string_view name = full.substr(0, dot), overload = full.substr(dot == full.npos ? full.size() : dot + 1);
  PyObject* names = PyList_New(0);
  if (!names) return nullptr;
  int depth = 0;
  size_t start = open + 1, equals = 0;
  for (size_t i = open + 1; i < arrow; ++i) {
    const char c = whole[i];
    const bool last = c == ')' && depth == 0;
    if (c == '(' || c == '[')
      ++depth;
    else if ((c == ')' || c == ']') && !last)
      --depth;
    else if (c == '=' && depth == 0)
      equals = i;
    if (!last && !(c == ',' && depth == 0)) continue;
    size_t end = equals ? equals : i;
    while (end > start && whole[end - 1] == ' ') --end;
    size_t from = end;
    while (from > start && whole[from - 1] != ' ') --from;
    if (end > from && whole[from] != '*') {
      PyObject* n = PyUnicode_FromStringAndSize(whole.data() + from, Py_ssize_t(end - from));
      if (n) PyUnicode_InternInPlace(&n);
      if (!n || PyList_Append(names, n) < 0) {
        Py_XDECREF(n);
        Py_DECREF(names);
        return nullptr;
      }
      Py_DECREF(n);
    }
    if (last) break;
    start = i + 1;
    equals = 0;
  }
  PyObject* tuple = PyList_AsTuple(names);
  Py_DECREF(names);
  const std::string key = std::string(ns) + "::" + std::string(full);
  return Py_BuildValue("s#s#s#s#N", ns.data(), Py_ssize_t(ns.size()), name.data(), Py_ssize_t(name.size()),
      overload.data(), Py_ssize_t(overload.size()), key.data(), Py_ssize_t(key.size()), tuple);
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
