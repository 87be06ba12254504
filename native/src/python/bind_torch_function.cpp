// torch._C's functions about __torch_function__: questions, the stack of modes, switches.
#include <utility>
#include <vector>

#include "autograd/operator_node.h"
#include "core/sparse.h"
#include "python/dispatch.h"
#include "python/override.h"
#include "python/torch_dispatch.h"
#include "python/torch_function_state.h"

namespace shim {

using namespace torch_function;

namespace {

thread_local bool passed_over = false;  // the next question of a function in Python is answered with no

bool passes_over() { return std::exchange(passed_over, false); }

PyObject* py_pass_over(PyObject*, PyObject* on) {
  passed_over = on == Py_True;
  Py_RETURN_NONE;
}

PyObject* py_has(PyObject*, PyObject* args) {  // (iterable)
  if (passes_over()) Py_RETURN_FALSE;
  PyObject* fast = PySequence_Fast(args, "expected a sequence");
  if (!fast) return nullptr;
  bool found = torch_function_mode_active();
  for (Py_ssize_t i = 0; !found && i < PySequence_Fast_GET_SIZE(fast); ++i)
    found = has_torch_function(PySequence_Fast_GET_ITEM(fast, i));
  Py_DECREF(fast);
  return PyBool_FromLong(found);
}
PyObject* py_has_unary(PyObject*, PyObject* o) {
  return PyBool_FromLong(!passes_over() && (torch_function_mode_active() || has_torch_function(o)));
}
PyObject* py_has_variadic(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (passes_over()) Py_RETURN_FALSE;
  bool found = torch_function_mode_active();
  for (Py_ssize_t i = 0; !found && i < n; ++i) found = has_torch_function(args[i]);
  return PyBool_FromLong(found);
}

PyObject* py_handle(PyObject*, PyObject* args, PyObject* kwargs) {  // (public_api, relevant_args, *args, **kwargs)
  if (PyTuple_GET_SIZE(args) < 2) {
    PyErr_SetString(PyExc_TypeError, "handle_torch_function() needs the function and its relevant arguments");
    return nullptr;
  }
  std::vector<PyObject*> found;
  PyObject* relevant = PySequence_Fast(PyTuple_GET_ITEM(args, 1), "relevant_args must be iterable");
  if (!relevant) return nullptr;
  for (Py_ssize_t i = 0; torch_function_enabled() && i < PySequence_Fast_GET_SIZE(relevant); ++i)
    collect(PySequence_Fast_GET_ITEM(relevant, i), found);
  PyObject* rest = PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args));
  PyObject* kw = kwargs ? Py_NewRef(kwargs) : PyDict_New();
  PyObject* result = rest && kw ? dispatch(PyTuple_GET_ITEM(args, 0), found, rest, kw) : nullptr;
  Py_XDECREF(rest);
  Py_XDECREF(kw);
  Py_DECREF(relevant);
  return result;
}

PyObject* py_push(PyObject*, PyObject* mode) {
  modes().push_back(Py_NewRef(mode));
  Py_RETURN_NONE;
}
PyObject* py_pop(PyObject*, PyObject*) {
  if (modes().empty()) {
    PyErr_SetString(PyExc_RuntimeError, "Tried to pop from the torch function mode stack while it is empty");
    return nullptr;
  }
  PyObject* mode = modes().back();
  modes().pop_back();
  return mode;
}
PyObject* py_len(PyObject*, PyObject*) { return PyLong_FromSize_t(modes().size()); }
PyObject* py_at(PyObject*, PyObject* index) {
  Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (i < 0 || size_t(i) >= modes().size()) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "torch function mode stack");
    return nullptr;
  }
  return Py_NewRef(modes()[size_t(i)]);
}
PyObject* py_enabled(PyObject*, PyObject*) { return PyBool_FromLong(torch_function_enabled()); }
PyObject* py_all_enabled(PyObject*, PyObject*) { return PyBool_FromLong(!all_disabled); }
PyObject* py_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(torch_function_mode_active()); }

PyObject* py_set_disabled(PyObject*, PyObject* args) {  // (subclasses, everything) -> the old pair
  int subclasses, everything;
  if (!PyArg_ParseTuple(args, "pp", &subclasses, &everything)) return nullptr;
  PyObject* old = Py_BuildValue("NN", PyBool_FromLong(subclasses_disabled), PyBool_FromLong(all_disabled));
  subclasses_disabled = subclasses;
  all_disabled = everything;
  return old;
}

PyMethodDef torch_function_functions[] = {{"_disabled_torch_function_impl", disabled_function, METH_VARARGS,
                                              "Runs func without __torch_function__ of subclasses."},
    {"_has_torch_function", py_has, METH_O, "Whether any of the arguments overrides torch functions."},
    {"_has_torch_function_unary", py_has_unary, METH_O, "The same for one argument."},
    {"_has_torch_function_variadic", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_has_variadic)),
        METH_FASTCALL, "The same for arguments given one by one."},
    {"_pass_over_torch_function", py_pass_over, METH_O,
        "Whether the next question about overrides is answered with no."},
    {"_handle_torch_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_handle)),
        METH_VARARGS | METH_KEYWORDS, "Calls the overrides of relevant_args."},
    {"_push_on_torch_function_stack", py_push, METH_O, nullptr},
    {"_pop_torch_function_stack", py_pop, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", py_len, METH_NOARGS, nullptr}, {"_get_function_stack_at", py_at, METH_O, nullptr},
    {"_is_torch_function_enabled", py_enabled, METH_NOARGS, nullptr},
    {"_is_torch_function_all_enabled", py_all_enabled, METH_NOARGS, nullptr},
    {"_is_torch_function_mode_enabled", py_mode_enabled, METH_NOARGS, nullptr},
    {"_set_torch_function_disabled", py_set_disabled, METH_VARARGS,
        "Sets (subclasses, everything) disabled; gives the old pair."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_torch_function(PyObject* module) {
  if (PyModule_AddFunctions(module, torch_function_functions) < 0) return -1;
  disabled_impl = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  if (!disabled_impl) return -1;
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
