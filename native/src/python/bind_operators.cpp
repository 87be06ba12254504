// The callables of the operator table: torch.f, Tensor.f and torch.ops.ns.f.
#include <algorithm>
#include <cstring>
#include <vector>

#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/operator_callable.h"
#include "python/sparse_dispatch.h"

namespace shim {

namespace {

PyObject* py_define(PyObject*, PyObject* args) {
  PyObject *record, *run = nullptr;
  if (!PyArg_ParseTuple(args, "O|O", &record, &run)) return nullptr;
  return guarded([&]() -> PyObject* { return define_record(record, run); });
}

PyObject* py_replace_run(PyObject*, PyObject* args) {
  PyObject *names, *old, *run;
  if (!PyArg_ParseTuple(args, "O!OO", &PyList_Type, &names, &old, &run)) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
    if (!name) return nullptr;
    for (Operator* op : overloads(name))
      if (python_of(*op).run == old)
        python_of(*op).run = Py_NewRef(run);  // `old` stays: a thread may be about to call it
  }
  Py_RETURN_NONE;
}

PyObject* py_derive(PyObject*, PyObject* args) {
  const char *schema, *name, *overload;
  if (!PyArg_ParseTuple(args, "sss", &schema, &name, &overload)) return nullptr;
  return guarded([&]() -> PyObject* { return derive_operator(schema, name, overload); });
}

PyObject* py_function(PyObject*, PyObject* args) {
  const char *qualified, *module = "torch";
  if (!PyArg_ParseTuple(args, "s|s", &qualified, &module)) return nullptr;
  return make_callable(OperatorFunctionType, qualified, Form::function, module);
}
PyObject* py_method(PyObject*, PyObject* args) {
  const char* qualified;
  if (!PyArg_ParseTuple(args, "s", &qualified)) return nullptr;
  return make_callable(OperatorMethodType, qualified, Form::method, nullptr);
}

PyObject* py_symbol(PyObject*, PyObject* args) {  // ("__add__", "aten::add", reflected=False)
  const char *symbol, *qualified;
  int reflected = 0;
  PyObject* seen = Py_None;
  if (!PyArg_ParseTuple(args, "ss|pO", &symbol, &qualified, &reflected, &seen)) return nullptr;
  PyObject* made = make_callable(OperatorMethodType, qualified, Form::method, nullptr);
  if (!made) return nullptr;
  auto* f = reinterpret_cast<Callable*>(made);
  f->vectorcall = call_symbol;
  f->reflected = reflected;
  f->reciprocal = std::strcmp(symbol, "__rtruediv__") == 0;
  static const char* const functions[] = {"__rsub__", "__rtruediv__", "__pow__", "__ipow__", "__rpow__", "__floordiv__",
      "__rfloordiv__", "__rmod__", "__rlshift__", "__rrshift__", "__rmatmul__"};
  f->of_tensors = std::none_of(
      std::begin(functions), std::end(functions), [&](const char* s) { return std::strcmp(s, symbol) == 0; });
  const bool itself = PyUnicode_Check(seen);  // overrides see the symbol, by that name
  f->public_form = itself            ? Py_NewRef(made)
                   : seen != Py_None ? Py_NewRef(seen)
                                     : make_callable(OperatorMethodType, qualified, Form::method, nullptr);
  PyObject* name = itself ? Py_NewRef(seen) : PyUnicode_InternFromString(symbol);
  Py_SETREF(f->qualname, PyUnicode_FromFormat("TensorBase.%U", name));
  Py_SETREF(f->name, name);
  return made;
}

PyObject* py_overloads(PyObject*, PyObject* args) {  // (qualified) -> [overload, ...]
  const char* qualified;
  if (!PyArg_ParseTuple(args, "s", &qualified)) return nullptr;
  const std::vector<Operator*>& found = overloads(qualified);
  if (found.empty() && define_waiting && std::strncmp(qualified, "aten::", 6) == 0) define_waiting();
  PyObject* list = PyList_New(0);
  for (Operator* op : found) {
    PyObject* s = PyUnicode_FromString(op->schema.overload.c_str());
    PyList_Append(list, s);
    Py_DECREF(s);
  }
  return list;
}

PyObject* strings(const std::vector<std::string>& names) {
  PyObject* list = PyList_New(0);
  for (auto& n : names) {
    PyObject* s = PyUnicode_FromString(n.c_str());
    PyList_Append(list, s);
    Py_DECREF(s);
  }
  return list;
}
PyObject* py_names(PyObject*, PyObject* args) {  // (ns) -> operator names
  const char* ns;
  if (!PyArg_ParseTuple(args, "s", &ns)) return nullptr;
  return strings(operator_names(ns));
}
PyObject* py_namespaces(PyObject*, PyObject*) { return strings(operator_namespaces()); }

PyObject* waiting = nullptr;

bool run_waiting() {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* call = Py_NewRef(waiting);
  PyObject* made = PyObject_CallNoArgs(call);
  const bool defined = made == Py_True;
  if (!made) PyErr_WriteUnraisable(call);
  Py_XDECREF(made);
  Py_DECREF(call);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  return defined;
}

PyObject* py_set_waiting(PyObject*, PyObject* define) {
  PyObject* old = std::exchange(waiting, define == Py_None ? nullptr : Py_NewRef(define));
  define_waiting = waiting ? run_waiting : nullptr;
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

PyObject* py_counts(PyObject*, PyObject*) {  // {"aten::add.Tensor": (body calls, native calls)} of those called
  PyObject* d = PyDict_New();
  for (auto& ns : operator_namespaces())
    for (auto& name : operator_names(ns))
      for (Operator* op : overloads(ns + "::" + name)) {
        if (!op->calls_body && !op->calls_native) continue;
        PyObject* pair = Py_BuildValue("KK", (unsigned long long)op->calls_body, (unsigned long long)op->calls_native);
        PyDict_SetItemString(d, op->full_name().c_str(), pair);
        Py_DECREF(pair);
      }
  return d;
}

PyMethodDef operators_functions[] = {
    {"define", py_define, METH_VARARGS,
        "define(record, run=None): adds a record's operators; the names they got, without the namespace."},
    {"replace_run", py_replace_run, METH_VARARGS,
        "replace_run([qualified, ...], old, run): operators of these names that run `old` run `run`."},
    {"derive", py_derive, METH_VARARGS,
        "derive(schema, qualified, overload): torch.ops gets an overload made of another: with out=, in place, or with "
        "numbers for tensors."},
    {"function", py_function, METH_VARARGS, "function(\"aten::add\", module=\"torch\"): the callable torch.add."},
    {"method", py_method, METH_VARARGS, "method(\"aten::add\"): the descriptor Tensor.add."},
    {"symbol_method", py_symbol, METH_VARARGS,
        "symbol_method(\"__add__\", \"aten::add\", reflected=False, seen=None): the descriptor behind x + y; `seen`: "
        "what overrides see, a method, or itself by that name."},
    {"operator_overloads", py_overloads, METH_VARARGS, "The overload names of an operator."},
    {"operator_names", py_names, METH_VARARGS, "The operators of a namespace."},
    {"set_waiting_operators", py_set_waiting, METH_O,
        "What defines the operators of aten that wait to be asked for, and gives whether it did; None: none wait."},
    {"operator_namespaces", py_namespaces, METH_NOARGS, "The namespaces that have operators."},
    {"operator_counts", py_counts, METH_NOARGS, "Body and native calls of each operator called so far."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_schema(PyObject* module);
int bind_run(PyObject* module);
int bind_lazy_clones(PyObject* module);
int bind_return_types(PyObject* module);

int bind_operators(PyObject* module) {
  if (make_callable_types() < 0) return -1;
  if (PyModule_AddObject(module, "OperatorCall", Py_NewRef(reinterpret_cast<PyObject*>(OperatorCallType))) < 0)
    return -1;
  if (PyModule_AddFunctions(module, operators_functions) < 0) return -1;
  return bind_run(module) < 0 || bind_lazy_clones(module) < 0 || bind_return_types(module) < 0 ||
                 bind_schema(module) < 0 || bind_library(module) < 0 || bind_modes(module) < 0 ||
                 bind_torch_function(module) < 0 || bind_torch_dispatch(module) < 0 || bind_sparse(module) < 0
             ? -1
             : 0;
}

}  // namespace shim
