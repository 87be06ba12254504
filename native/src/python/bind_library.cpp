// torch.library's functions of the module.
#include "autograd/autograd.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/library_table.h"
#include "python/stable_values.h"

namespace shim {

namespace {

Operator* find(const char* qualified, const char* overload) {
  Operator* op = find_operator(qualified, overload);
  if (!op)
    PyErr_Format(PyExc_RuntimeError, "operator %s%s%s does not exist", qualified, *overload ? "." : "", overload);
  return op;
}

PyObject* define_schema(PyObject*, PyObject* args) {  // (ns, schema, ops_only=False) -> (qualified, overload)
  const char *ns, *schema;
  int ops_only = 0;
  if (!PyArg_ParseTuple(args, "ss|p", &ns, &schema, &ops_only)) return nullptr;
  return guarded([&]() -> PyObject* {
    Schema parsed = parse_schema(schema);
    if (std::string(schema).find("::") > std::string(schema).find('(')) parsed.ns = ns;
    Operator* made = define_operator(std::move(parsed), ops_only);
    return Py_BuildValue("ss", made->schema.qualified().c_str(), made->schema.overload.c_str());
  });
}

PyObject* undefine_schema(PyObject*, PyObject* args) {  // (qualified, overload)
  const char *qualified, *overload;
  if (!PyArg_ParseTuple(args, "ss", &qualified, &overload)) return nullptr;
  Operator* op = find(qualified, overload);
  if (!op) return nullptr;
  remove_operator(op);
  Py_RETURN_NONE;
}

PyObject* implement(PyObject*, PyObject* args) {  // (qualified, overload, key, callable or None) -> the old one
  const char *qualified, *overload, *key;
  PyObject* f;
  if (!PyArg_ParseTuple(args, "sssO", &qualified, &overload, &key, &f)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (std::string_view(key) != "Meta") abi::note_python_kernel(qualified, overload);
    PyObject* old = set_kernel(qualified, overload, key, f == Py_None ? nullptr : f);
    return old ? old : Py_NewRef(Py_None);
  });
}

PyObject* kernels_of(PyObject*, PyObject* args) {  // (qualified, overload) -> {key: callable}
  const char *qualified, *overload;
  if (!PyArg_ParseTuple(args, "ss", &qualified, &overload)) return nullptr;
  Operator* op = find(qualified, overload);
  if (!op) return nullptr;
  PyObject* d = PyDict_New();
  for (auto& [key, f] : python_of(*op).overrides) PyDict_SetItemString(d, key.c_str(), f);
  return d;
}

PyObject* name_parts(PyObject*, PyObject* args) {  // (qualified, overload, body, [(qualified, overload), ...])
  const char *qualified, *overload;
  PyObject *body, *names;
  if (!PyArg_ParseTuple(args, "ssOO!", &qualified, &overload, &body, &PyList_Type, &names)) return nullptr;
  Operator* op = find(qualified, overload);
  if (!op) return nullptr;
  OperatorParts parts{Py_NewRef(body), {}};
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    const char *name, *of;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(names, i), "ss", &name, &of)) return nullptr;
    parts.names.emplace_back(name, of);
  }
  parts_of()[op] = std::move(parts);
  Py_RETURN_NONE;
}

PyObject* call_passing_over(PyObject*, PyObject* args) {  // (qualified, callable, args, kwargs)
  PyObject *callable, *positional, *keywords;
  const char* qualified;
  if (!PyArg_ParseTuple(args, "sOOO", &qualified, &callable, &positional, &keywords)) return nullptr;
  passed_over = qualified;
  PyObject* r = PyObject_Call(callable, positional, keywords);
  passed_over = nullptr;
  return r;
}

PyObject* set_below_autograd(PyObject*, PyObject* on) {
  bool old = below_autograd;
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  below_autograd = value != 0;
  return PyBool_FromLong(old);
}

PyObject* wants_gradient(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return PyBool_FromLong(GradMode::enabled() && any_requires_grad(args, size_t(n)));
}

PyMethodDef library_table_functions[] = {
    {"wants_gradient", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(wants_gradient)), METH_FASTCALL,
        "Whether gradients are recorded and an argument (or list of them) requires one."},
    {"define_schema", define_schema, METH_VARARGS, "Defines an operator of another namespace from its schema."},
    {"undefine_schema", undefine_schema, METH_VARARGS, "Takes back define_schema."},
    {"implement", implement, METH_VARARGS,
        "Registers a Python kernel for a dispatch key; None removes it. Gives the old one."},
    {"kernels_of", kernels_of, METH_VARARGS, "The registered Python kernels of an operator by key."},
    {"_name_parts", name_parts, METH_VARARGS,
        "What an operator runs as where a kernel is registered for one of its parts."},
    {"_call_passing_over", call_passing_over, METH_VARARGS, "Calls an operator as if it had no kernels from Python."},
    {"_set_below_autograd", set_below_autograd, METH_O, "Skips Autograd kernels on this thread; gives the old state."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_library(PyObject* module) { return PyModule_AddFunctions(module, library_table_functions); }

}  // namespace shim
