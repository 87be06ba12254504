// torch._C's functions about __torch_function__: questions, the stack of modes, switches.
#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/operator_node.h"
#include "core/sparse.h"
#include "python/dispatch.h"
#include "python/mode_stack.h"
#include "python/override.h"
#include "python/torch_dispatch.h"
#include "python/torch_function_state.h"

namespace shim {

using namespace torch_function;

namespace {

thread_local bool passed_over = false;  // the next question of a function in Python is answered with no

bool passes_over() { return std::exchange(passed_over, false); }

bool any_overrides(PyObject* const* args, size_t n) {
  return !passes_over() && (torch_function_mode_active() || std::any_of(args, args + n, has_torch_function));
}
PyObject* py_has(PyObject*, PyObject* args) {  // (iterable)
  const OwnedRef fast{PySequence_Fast(args, "expected a sequence")};
  if (!fast.o) return nullptr;
  return PyBool_FromLong(any_overrides(PySequence_Fast_ITEMS(fast.o), size_t(PySequence_Fast_GET_SIZE(fast.o))));
}
PyObject* py_has_unary(PyObject*, PyObject* o) { return PyBool_FromLong(any_overrides(&o, 1)); }
PyObject* py_has_variadic(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return PyBool_FromLong(any_overrides(args, size_t(n)));
}

PyObject* py_handle(PyObject*, PyObject* args, PyObject* kwargs) {  // (public_api, relevant_args, *args, **kwargs)
  if (PyTuple_GET_SIZE(args) < 2)
    return PyErr_Format(PyExc_TypeError, "handle_torch_function() needs the function and its relevant arguments");
  std::vector<PyObject*> found;
  const OwnedRef relevant{PySequence_Fast(PyTuple_GET_ITEM(args, 1), "relevant_args must be iterable")};
  if (!relevant.o) return nullptr;
  for (Py_ssize_t i = 0; torch_function_enabled() && i < PySequence_Fast_GET_SIZE(relevant.o); ++i)
    collect(PySequence_Fast_GET_ITEM(relevant.o, i), found);
  const OwnedRef rest{PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args))},
      keywords{kwargs ? Py_NewRef(kwargs) : PyDict_New()};
  return rest.o && keywords.o ? dispatch(PyTuple_GET_ITEM(args, 0), found, rest, keywords) : nullptr;
}

constexpr char kFunctionModes[] = "torch function";
using FunctionModes = ModeStack<&modes, [](int) {}, kFunctionModes>;

std::tuple<bool, bool> set_disabled(Truth subclasses, Truth everything) {  // gives the old pair
  return {std::exchange(subclasses_disabled, subclasses), std::exchange(functions_disabled, everything)};
}

PyMethodDef torch_function_functions[] = {{"_disabled_torch_function_impl", disabled_function, METH_VARARGS,
                                              "Runs func without __torch_function__ of subclasses."},
    {"_has_torch_function", py_has, METH_O, "Whether any of the arguments overrides torch functions."},
    {"_has_torch_function_unary", py_has_unary, METH_O, "The same for one argument."},
    raw_function("_has_torch_function_variadic", py_has_variadic, "The same for arguments given one by one."),
    function<[](Truth on) { passed_over = on; }>(
        "_pass_over_torch_function", "Whether the next question about overrides is answered with no."),
    raw_function("_handle_torch_function", py_handle, "Calls the overrides of relevant_args."),
    function<&FunctionModes::push>("_push_on_torch_function_stack"),
    function<&FunctionModes::pop>("_pop_torch_function_stack"),
    function<&FunctionModes::size>("_len_torch_function_stack"), function<&FunctionModes::at>("_get_function_stack_at"),
    function<&torch_function_enabled>("_is_torch_function_enabled"),
    function<[] { return !functions_disabled; }>("_is_torch_function_all_enabled"),
    function<&torch_function_mode_active>("_is_torch_function_mode_enabled"),
    function<&set_disabled>(
        "_set_torch_function_disabled", "Sets (subclasses, everything) disabled; gives the old pair."),
    {}};

}  // namespace

int bind_torch_function(PyObject* module) {
  if (PyModule_AddFunctions(module, torch_function_functions) < 0) return -1;
  protocol.disabled = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  if (!protocol.disabled) return -1;
  SubclassOps::overrides = [](const TensorImpl& t) {
    return t.pyobj && has_torch_function(static_cast<PyObject*>(t.pyobj));
  };
  onlookers = [] {
    if (python_dispatch && dispatch_mode_active()) return Onlookers::operators;
    return torch_function_mode_active() ? Onlookers::functions : Onlookers::none;
  };
  return add_default_function();
}

}  // namespace shim
