// torch._C's functions about __torch_dispatch__: the stack of modes, switches, rules.
#include "autograd/autograd.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "python/torch_dispatch_state.h"

namespace shim {

using namespace torch_dispatch;

namespace {

PyObject* py_push(PyObject*, PyObject* mode) {
  modes().push_back(Py_NewRef(mode));
  ++modes_on;
  refresh();
  Py_RETURN_NONE;
}
PyObject* py_pop(PyObject*, PyObject*) {
  if (modes().empty()) {
    PyErr_SetString(PyExc_RuntimeError, "Tried to pop from the torch dispatch mode stack while it is empty");
    return nullptr;
  }
  PyObject* mode = modes().back();
  modes().pop_back();
  --modes_on;
  refresh();
  return mode;
}
PyObject* py_len(PyObject*, PyObject*) { return PyLong_FromSize_t(modes().size()); }
PyObject* py_at(PyObject*, PyObject* index) {
  Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  if (i < 0 || size_t(i) >= modes().size()) {
    PyErr_SetString(PyExc_IndexError, "torch dispatch mode stack");
    return nullptr;
  }
  return Py_NewRef(modes()[size_t(i)]);
}
PyObject* py_set_disabled(PyObject*, PyObject* on) {
  bool old = disabled;
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  disabled = value != 0;
  return PyBool_FromLong(old);
}
PyObject* py_set_below(PyObject*, PyObject* on) {
  bool old = below;
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  below = value != 0;
  return PyBool_FromLong(old);
}

PyObject* disabled_dispatch(PyObject*, PyObject* args) {  // (func, types, args=(), kwargs=None)
  PyObject *func, *types, *positional = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO", &func, &types, &positional, &kwargs)) return nullptr;
  bool old = disabled;
  disabled = true;
  OwnedRef tuple{positional ? PySequence_Tuple(positional) : PyTuple_New(0)};
  PyObject* r = tuple.o ? PyObject_Call(func, tuple.o, kwargs && kwargs != Py_None ? kwargs : nullptr) : nullptr;
  disabled = old;
  return r;
}

// (qualified, overload, leaf, parts or None): how PyTorch's operator of that name stands to ours.
PyObject* py_mark(PyObject*, PyObject* args) {
  const char *qualified, *overload;
  int leaf;
  PyObject* parts;
  if (!PyArg_ParseTuple(args, "sspO", &qualified, &overload, &leaf, &parts)) return nullptr;
  Operator* op = find_operator(qualified, overload);
  if (!op) Py_RETURN_FALSE;
  op->dispatch_leaf = leaf;
  if (parts != Py_None) python_of(*op).dispatch_parts = Py_NewRef(parts);
  Py_RETURN_TRUE;
}

// (qualified, overload, {inputs: formula}, results): the gradients that handlers are shown, of so many results (-1: all).
PyObject* py_show_formulas(PyObject*, PyObject* args) {
  const char *qualified, *overload;
  PyObject* formulas;
  int outputs;
  if (!PyArg_ParseTuple(args, "ssO!i", &qualified, &overload, &PyDict_Type, &formulas, &outputs)) return nullptr;
  Operator* op = find_operator(qualified, overload);
  if (!op) Py_RETURN_FALSE;
  return guarded([&]() -> PyObject* {
    show_formulas(*op, formulas_of(formulas), outputs);
    Py_RETURN_TRUE;
  });
}

PyObject* py_rules(PyObject*, PyObject*) {
  if (!rules) rules = PyDict_New();
  return Py_XNewRef(rules);
}

PyMethodDef torch_dispatch_functions[] = {
    {"_disabled_torch_dispatch_impl", disabled_dispatch, METH_VARARGS, "Runs func without __torch_dispatch__."},
    {"_push_on_torch_dispatch_stack", py_push, METH_O, nullptr},
    {"_pop_torch_dispatch_stack", py_pop, METH_VARARGS, nullptr},
    {"_len_torch_dispatch_stack", py_len, METH_NOARGS, nullptr}, {"_get_dispatch_stack_at", py_at, METH_O, nullptr},
    {"_set_torch_dispatch_disabled", py_set_disabled, METH_O,
        "Turns handlers off on this thread; gives the old state."},
    {"_set_below_dispatch", py_set_below, METH_O,
        "Whether gradients are recorded within a handler; gives the old state."},
    {"_mark_for_dispatch", py_mark, METH_VARARGS, nullptr}, {"_show_formulas", py_show_formulas, METH_VARARGS, nullptr},
    {"_torch_dispatch_rules", py_rules, METH_NOARGS, "{operator: {class: function}} that handlers give way to."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_torch_dispatch(PyObject* module) {
  if (PyModule_AddFunctions(module, torch_dispatch_functions) < 0) return -1;
  disabled_impl = PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl");
  if (!disabled_impl || PyDict_SetItem(TensorBaseType->tp_dict, handler_name(), disabled_impl) < 0) return -1;
  PyType_Modified(TensorBaseType);
  return 0;
}

}  // namespace shim
