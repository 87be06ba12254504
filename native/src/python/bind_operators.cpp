// The callables of the operator table: torch.f, Tensor.f and torch.ops.ns.f.
#include <algorithm>
#include <vector>

#include "python/dispatch.h"
#include "python/module_function.h"
#include "python/operator_callable.h"

namespace shim {

namespace {

void replace_run(std::vector<std::string> names, PyObject* old, PyObject* run) {
  for (const std::string& name : names)
    for (Operator* op : overloads(name))
      if (python_of(*op).run == old)
        python_of(*op).run = Py_NewRef(run);  // `old` stays: a thread may be about to call it
}

PyObject* make_function(std::string_view qualified, std::optional<std::string_view> module) {
  return make_callable(
      OperatorFunctionType, std::string(qualified), Form::function, std::string(module.value_or("torch")).c_str());
}
PyObject* make_method(std::string_view qualified) {
  return make_callable(OperatorMethodType, std::string(qualified), Form::method, nullptr);
}

// ("__add__", "aten::add", reflected=False)
PyObject* make_symbol(
    std::string_view symbol, std::string_view qualified, std::optional<bool> reflected, std::optional<PyObject*> seen) {
  PyObject* made = make_method(qualified);
  if (!made) return nullptr;
  auto* f = reinterpret_cast<Callable*>(made);
  f->vectorcall = call_symbol;
  f->reflected = reflected.value_or(false);
  f->reciprocal = symbol == "__rtruediv__";
  static constexpr std::string_view functions[] = {"__rsub__", "__rtruediv__", "__pow__", "__ipow__", "__rpow__",
      "__floordiv__", "__rfloordiv__", "__rmod__", "__rlshift__", "__rrshift__", "__rmatmul__"};
  f->of_tensors = std::ranges::find(functions, symbol) == std::end(functions);
  const bool itself = seen && PyUnicode_Check(*seen);  // overrides see the symbol, by that name
  f->public_form = itself ? Py_NewRef(made) : seen ? Py_NewRef(*seen) : make_method(qualified);
  PyObject* name = itself ? Py_NewRef(*seen) : PyUnicode_InternFromString(std::string(symbol).c_str());
  Py_SETREF(f->qualname, PyUnicode_FromFormat("TensorBase.%U", name));
  Py_SETREF(f->name, name);
  return made;
}

std::vector<std::string> overload_names(std::string_view qualified) {
  const std::vector<Operator*>& found = overloads(std::string(qualified));
  if (found.empty() && define_waiting && qualified.starts_with("aten::")) define_waiting();
  std::vector<std::string> names;
  for (Operator* op : found) names.push_back(op->schema.overload);
  return names;
}

PyObject* waiting = nullptr;

bool run_waiting() {
  const GilAcquire gil;
  const Pending raised;
  const OwnedRef call{Py_NewRef(waiting)}, made{PyObject_CallNoArgs(call)};
  if (!made.o) PyErr_WriteUnraisable(call);
  return made == Py_True;
}

void set_waiting(std::optional<PyObject*> define) {
  const OwnedRef old{std::exchange(waiting, define ? Py_NewRef(*define) : nullptr)};
  define_waiting = waiting ? run_waiting : nullptr;
}

const ModulePart operators_functions{{function<&replace_run>("replace_run",
                                          "replace_run([qualified, ...], old, run): operators of these names that run "
                                          "`old` run `run`."),
    function<&make_function>("function", "function(\"aten::add\", module=\"torch\"): the callable torch.add."),
    function<&make_method>("method", "method(\"aten::add\"): the descriptor Tensor.add."),
    function<&make_symbol>("symbol_method",
        "symbol_method(\"__add__\", \"aten::add\", reflected=False, seen=None): the descriptor behind x + y; `seen`: "
        "what overrides see, a method, or itself by that name."),
    function<&overload_names>("operator_overloads", "The overload names of an operator."),
    function<[](std::string_view ns) { return operator_names(std::string(ns)); }>(
        "operator_names", "The operators of a namespace."),
    function<&set_waiting>("set_waiting_operators",
        "What defines the operators of aten that wait to be asked for, and gives whether it did; None: none wait."),
    function<&operator_namespaces>("operator_namespaces", "The namespaces that have operators."),
    function<&operator_counts>("operator_counts", "Body and native calls of each operator called so far.")}};

}  // namespace

int bind_operators(PyObject* module) {
  if (make_callable_types() < 0) return -1;
  if (PyModule_AddObject(module, "OperatorCall", Py_NewRef(reinterpret_cast<PyObject*>(OperatorCallType))) < 0)
    return -1;
  return bind_torch_function(module) < 0 ? -1 : bind_torch_dispatch(module);
}

}  // namespace shim
