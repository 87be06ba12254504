// What torch.nn.Module does most, in C++: its parameters, buffers and modules as attributes, and calls without hooks. A class keeps these
// slots while its methods are Module's own; the interpreter puts its own there when one is assigned. What is seldom is left to the methods.
#include <algorithm>

#include "python/owned_ref.h"

namespace shim {

namespace nn_module {

static PyTypeObject* module_type = nullptr;
static PyObject *get_missing, *call_method, *call_impl;  // Module's own methods
static PyObject* globals;                                // of its file: hooks of all modules

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

struct Names {
  PyObject* tables[3] = {interned("_parameters"), interned("_buffers"), interned("_modules")};
  PyObject* own_hooks[4] = {interned("_forward_hooks"), interned("_forward_pre_hooks"), interned("_backward_hooks"),
      interned("_backward_pre_hooks")};
  PyObject* all_hooks[4] = {interned("_global_forward_hooks"), interned("_global_forward_pre_hooks"),
      interned("_global_backward_hooks"), interned("_global_backward_pre_hooks")};
  PyObject *compiled = interned("_compiled_call_impl"), *call_impl = interned("_call_impl"),
           *forward = interned("forward"), *getattr = interned("__getattr__"), *call = interned("__call__"),
           *getattribute = interned("__getattribute__");
};
const Names& names() {
  static const Names all;
  return all;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
  if (found || PyErr_Occurred()) return found;
  const OwnedRef state{PyObject_GenericGetDict(self, nullptr)};
  for (PyObject* table : names().tables) {
    PyObject* items = state.o ? PyDict_GetItemWithError(state, table) : nullptr;
    if (items && !PyDict_CheckExact(items) && !PyODict_CheckExact(items)) break;
    if (PyObject* item = items ? PyDict_GetItemWithError(items, name) : nullptr) return Py_NewRef(item);
    if (PyErr_Occurred()) return nullptr;
  }
  PyObject* method = _PyType_Lookup(Py_TYPE(self), names().getattr);
  return PyObject_CallFunctionObjArgs(method ? method : get_missing, self, name, nullptr);
}

bool all_empty(PyObject* where, PyObject* const (&tables)[4]) {
  for (PyObject* name : tables) {
    PyObject* table = PyDict_GetItemWithError(where, name);
    if (!table || !PyDict_Check(table) || PyDict_GET_SIZE(table)) return false;
  }
  return true;
}

// Whether nothing is to be done but forward().
bool calls_forward_alone(PyObject* self, PyObject* state) {
  const Names& n = names();
  if (_PyType_Lookup(Py_TYPE(self), n.call_impl) != call_impl || PyDict_GetItemWithError(state, n.call_impl))
    return false;
  if (_PyType_Lookup(Py_TYPE(self), n.compiled) != Py_None) return false;
  PyObject* compiled = PyDict_GetItemWithError(state, n.compiled);
  return (!compiled || compiled == Py_None) && all_empty(state, n.own_hooks) && all_empty(globals, n.all_hooks);
}

PyObject* call_function(PyObject* f, PyObject* self, PyObject* args, PyObject* kwargs) {
  constexpr Py_ssize_t kFew = 8;
  const Py_ssize_t n = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
  if (n + named >= kFew) {
    const OwnedRef bound{PyMethod_New(f, self)};
    return bound.o ? PyObject_Call(bound, args, kwargs) : nullptr;
  }
  PyObject* stack[kFew] = {self};
  std::copy_n(&PyTuple_GET_ITEM(args, 0), n, stack + 1);
  if (!named) return PyObject_Vectorcall(f, stack, size_t(n + 1), nullptr);
  const OwnedRef keys{PyTuple_New(named)};
  if (!keys.o) return nullptr;
  PyObject *key, *value;
  for (Py_ssize_t at = 0, i = 0; PyDict_Next(kwargs, &at, &key, &value); ++i) {
    PyTuple_SET_ITEM(keys.o, i, Py_NewRef(key));
    stack[n + 1 + i] = value;
  }
  return PyObject_Vectorcall(f, stack, size_t(n + 1), keys);
}

PyObject* call_module(PyObject* self, PyObject* args, PyObject* kwargs) {
  const OwnedRef state{PyObject_GenericGetDict(self, nullptr)};
  if (!state.o) return nullptr;
  if (!calls_forward_alone(self, state)) {
    if (PyErr_Occurred()) return nullptr;
    return call_function(call_method, self, args, kwargs);
  }
  PyObject* forward = _PyType_Lookup(Py_TYPE(self), names().forward);
  if (forward && PyFunction_Check(forward) && !PyDict_GetItemWithError(state, names().forward)) {
    const OwnedRef held{Py_NewRef(forward)};
    return call_function(forward, self, args, kwargs);
  }
  const OwnedRef bound{PyObject_GetAttr(self, names().forward)};
  return bound.o ? PyObject_Call(bound, args, kwargs) : nullptr;
}

// Of Module, and of each class that is made of it.
PyObject* quicken(PyObject*, PyObject* o) {
  auto* type = reinterpret_cast<PyTypeObject*>(o);
  const Names& n = names();
  if (!module_type) {
    module_type = type;
    get_missing = _PyType_Lookup(type, n.getattr);
    call_method = _PyType_Lookup(type, n.call);
    call_impl = _PyType_Lookup(type, n.call_impl);
    globals = PyFunction_GetGlobals(call_impl);
    for (PyObject* held : {get_missing, call_method, call_impl, globals, o}) Py_INCREF(held);
  }
  const bool plain_get = _PyType_Lookup(type, n.getattribute) == _PyType_Lookup(&PyBaseObject_Type, n.getattribute);
  if (plain_get && _PyType_Lookup(type, n.getattr) == get_missing) type->tp_getattro = get_attribute;
  if (_PyType_Lookup(type, n.call) == call_method) type->tp_call = call_module;
  PyType_Modified(type);
  Py_RETURN_NONE;
}

const ModulePart functions{
    {{"quicken_module", quicken, METH_O, "Gives a class of modules its quick attributes and calls."}}};

}  // namespace nn_module

}  // namespace shim
