// Schemas as Python data: torch._ops builds FunctionSchema and Argument objects from it.
#include "ops/schema_names.h"
#include "python/dispatch.h"
#include "python/module_function.h"

namespace shim {
namespace {

using module_call::list_of;

PyObject* alias_data(const std::optional<Alias>& a) {
  if (!a) Py_RETURN_NONE;
  auto names = [](const std::vector<std::string>& v) {
    return PySet_New(owned(list_of(v, [](const std::string& n) { return PyUnicode_FromString(n.c_str()); })));
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

// (ns, name, overload, text, arguments, returns, mutable, varargs, varreturns)
PyObject* schema_data(const PythonOperator& op) {
  const Schema& s = op.schema;
  size_t at = 0;
  OwnedRef args = owned(list_of(s.args, [&](const Argument& a) {
    return argument_data(a.name, a.type, a.alias, op.slots[at++].fallback, a.kwarg_only, a.is_out);
  }));
  OwnedRef returns = owned(list_of(
      s.returns, [](const Return& r) { return argument_data(r.name, r.type, r.alias, nullptr, false, false); }));
  return Py_BuildValue("ssssOONNN", s.ns.c_str(), s.name.c_str(), s.overload.c_str(), s.text().c_str(), args.o,
      returns.o, PyBool_FromLong(s.is_mutable()), PyBool_FromLong(s.varargs), PyBool_FromLong(s.varreturns));
}

PyObject* operator_schema(std::string_view qualified, std::string_view overload) {
  return schema_data(python_of(operator_named(qualified, overload)));
}

PyObject* parsed(std::string_view text) {
  PythonOperator op;
  op.schema = parse_schema(std::string(text));
  op.prepare();
  return schema_data(op);
}

PyObject* text_of(std::string_view s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }

PyObject* names_in(std::string_view text) {  // (ns, name, overload, key, argument names)
  const SchemaNames names = schema_names(text);
  OwnedRef tuple = owned(tuple_by(names.arguments.size(), [&](size_t i) {
    PyObject* name = owned(text_of(names.arguments[i])).give();
    return PyUnicode_InternInPlace(&name), name;
  }));
  return Py_BuildValue(
      "NNNNN", text_of(names.ns), text_of(names.name), text_of(names.overload), text_of(names.key), tuple.give());
}

const ModulePart schema_functions{
    {function<&names_in>(
         "schema_names", "(namespace, name, overload, key, argument names) of a schema, unparsed otherwise."),
        function<&operator_schema>("operator_schema", "The schema of an overload as plain data."),
        function<&parsed>("parse_schema_data", "A parsed schema as plain data."),
        function<[](std::string_view text) { return parse_schema(std::string(text)).text(); }>(
            "normalize_schema", "The normal form of a schema.")}};

}  // namespace

}  // namespace shim
