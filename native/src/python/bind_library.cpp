// torch.library's functions of the module.
#include "abi/abi.h"
#include "autograd/autograd.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/library_table.h"
#include "python/module_function.h"

namespace shim {

namespace {

using Text = std::string_view;

std::tuple<std::string, std::string> define_schema(Text ns, Text schema, std::optional<bool> ops_only) {
  Schema parsed = parse_schema(std::string(schema));
  if (schema.find("::") > schema.find('(')) parsed.ns = ns;
  const Schema& made = define_operator(std::move(parsed), ops_only.value_or(false))->schema;
  return {made.qualified(), made.overload};
}

void undefine_schema(Text qualified, Text overload) { remove_operator(&operator_named(qualified, overload)); }

PyObject* implement(Text qualified, Text overload, Text key, PyObject* f) {  // None: no kernel
  if (key != "Meta") abi::note_python_kernel(std::string(qualified), std::string(overload));
  void* old = set_kernel(std::string(qualified), std::string(overload), std::string(key), f == Py_None ? nullptr : f);
  return old ? static_cast<PyObject*>(old) : Py_NewRef(Py_None);
}

std::map<std::string, PyObject*> kernels_of(Text qualified, Text overload) {  // {key: callable}
  std::map<std::string, PyObject*> found;
  for (auto& [key, f] : operator_named(qualified, overload).overrides)
    found[key] = Py_NewRef(static_cast<PyObject*>(f));
  return found;
}

void name_parts(Text qualified, Text overload, PyObject* body, const Value& names) {  // [(qualified, overload), ...]
  OperatorParts parts{Py_NewRef(body), {}};
  CHECK(Kind::Type, names.tag == Value::list, "_name_parts: expected a list of names");
  for (const Value& name : std::span(names.items, names.size)) {
    const auto text = [&](int i) { return std::string(name.items[i].chars, name.items[i].size); };
    CHECK(Kind::Type,
        name.tag == Value::list && name.size == 2 && name.items[0].tag == Value::text &&
            name.items[1].tag == Value::text,
        "_name_parts: expected pairs of names");
    parts.names.emplace_back(text(0), text(1));
  }
  parts_of()[&operator_named(qualified, overload)] = std::move(parts);
}

PyObject* call_passing_over(PyObject* qualified, PyObject* callable, PyObject* positional, PyObject* keywords) {
  passed_over = utf8(qualified);
  PyObject* r = PyObject_Call(callable, positional, keywords);
  passed_over = nullptr;
  return r;
}

bool set_below_autograd(Truth on) { return std::exchange(below_autograd, on); }

bool wants_gradient(Rest given) {
  return GradMode::enabled() && any_requires_grad(Values(given.args, given.size).data(), given.size);
}

const ModulePart library_table_functions{
    {function<&wants_gradient>(
         "wants_gradient", "Whether gradients are recorded and an argument (or list of them) requires one."),
        function<&define_schema>("define_schema",
            "(namespace, schema[, ops_only]): defines an operator of another namespace; its name and overload."),
        function<&undefine_schema>("undefine_schema", "Takes back define_schema."),
        function<&implement>("implement",
            "(name, overload, key, kernel): registers a Python kernel for a dispatch key; None removes it. The old "
            "one."),
        function<&kernels_of>("kernels_of", "The registered Python kernels of an operator by key."),
        function<&name_parts>(
            "_name_parts", "What an operator runs as where a kernel is registered for one of its parts."),
        function<&call_passing_over>("_call_passing_over", "Calls an operator as if it had no kernels from Python."),
        function<&set_below_autograd>(
            "_set_below_autograd", "Skips Autograd kernels on this thread; gives the old state.")},
    [](PyObject*) { return install_library(), 0; }};

}  // namespace

}  // namespace shim
