// The __torch_function__ protocol: subclasses, foreign objects and modes.
#include <vector>

#include "autograd/autograd.h"
#include "core/sparse.h"
#include "python/dispatch.h"
#include "autograd/piecewise_constant.h"
#include "python/foreign.h"
#include "python/torch_function_state.h"

namespace shim {

namespace torch_function {

thread_local constinit bool subclasses_disabled = false, all_disabled = false;
PyObject* disabled_impl = nullptr;

std::vector<PyObject*>& modes() {
  static thread_local std::vector<PyObject*> stack;
  return stack;
}

}  // namespace torch_function

using namespace torch_function;

void add_by_class(PyObject* o, std::vector<PyObject*>& found) {
  for (PyObject* f : found)
    if (Py_TYPE(f) == Py_TYPE(o)) return;
  size_t at = found.size();
  for (size_t i = 0; i < found.size(); ++i)
    if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(found[i]))) {
      at = i;
      break;
    }
  found.insert(found.begin() + long(at), o);
}

namespace {

PyObject* hook_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

// The type's __torch_function__, borrowed-like new reference, or null when it has none or opted out.
PyObject* hook_of(PyObject* o) {
  if (is_tensor_exact(o) || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType) return nullptr;
  // A lookup that fails is slow for the error that it makes; classes of another metaclass may have the name there.
  if (Py_TYPE(Py_TYPE(o)) == &PyType_Type && !_PyType_Lookup(Py_TYPE(o), hook_name())) return nullptr;
  PyObject* hook = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), hook_name());
  if (!hook) {
    PyErr_Clear();
    return nullptr;
  }
  if (hook == disabled_impl) {
    Py_DECREF(hook);
    return nullptr;
  }
  return hook;
}

}  // namespace

// Overloaded arguments, subclasses before their bases, each type once.
void torch_function::collect(PyObject* o, std::vector<PyObject*>& found) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) collect(PySequence_Fast_GET_ITEM(o, i), found);
    return;
  }
  PyObject* hook = hook_of(o);
  if (!hook) return;
  Py_DECREF(hook);
  add_by_class(o, found);
}

namespace {

PyObject* pack_args(const CallArgs& c) {
  PyObject* args = PyTuple_New(Py_ssize_t(c.nargs));
  for (size_t i = 0; args && i < c.nargs; ++i) {
    Py_INCREF(c.args[i]);
    PyTuple_SET_ITEM(args, i, c.args[i]);
  }
  return args;
}
PyObject* pack_kwargs(const CallArgs& c) {
  PyObject* kwargs = PyDict_New();
  for (size_t i = 0; kwargs && i < c.nkw(); ++i) PyDict_SetItem(kwargs, c.kwname(i), c.kwvalue(i));
  return kwargs;
}

PyObject* invoke(PyObject* hook, PyObject* callable, PyObject* types, PyObject* args, PyObject* kwargs) {
  PyObject* a[] = {nullptr, callable, types, args, kwargs};
  return PyObject_Vectorcall(hook, a + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

PyObject* call_mode(PyObject* callable, PyObject* types, PyObject* args, PyObject* kwargs) {
  PyObject* mode = modes().back();
  modes().pop_back();  // inside its own handler a mode is off
  PyObject* hook = PyObject_GetAttr(mode, hook_name());
  PyObject* result = hook ? invoke(hook, callable, types, args, kwargs) : nullptr;
  Py_XDECREF(hook);
  modes().push_back(mode);
  return result;
}

}  // namespace

std::string torch_function::text_of(PyObject* o, const char* attribute) {
  PyObject* v = PyObject_GetAttrString(o, attribute);
  const char* text = v && PyUnicode_Check(v) ? PyUnicode_AsUTF8(v) : nullptr;
  std::string s = text ? text : "";
  Py_XDECREF(v);
  PyErr_Clear();
  return s;
}

// torch.add, torch.Tensor.add, torch.Tensor.shape.__get__
std::string torch_function::public_name(PyObject* callable) {
  std::string name = text_of(callable, "__name__"), module = text_of(callable, "__module__");
  if (module.starts_with("shim_torch")) module.erase(0, 5);
  if (name == "__get__" || name == "__set__") {
    PyObject* owner = PyObject_GetAttrString(callable, "__self__");
    std::string of = owner ? text_of(owner, "__name__") : "";
    Py_XDECREF(owner);
    PyErr_Clear();
    return "torch.Tensor." + of + "." + name;
  }
  bool method =
      text_of(callable, "__qualname__").starts_with("TensorBase.") || PyObject_HasAttrString(callable, "__objclass__");
  return (method ? "torch.Tensor" : module.empty() ? "torch" : module) + "." + name;
}

namespace {

PyObject* raise_refused(PyObject* callable, const std::vector<PyObject*>& found) {
  std::string text = str("Multiple dispatch failed for '", public_name(callable),
      "'; all __torch_function__ handlers returned NotImplemented:\n\n");
  auto add = [&](const char* what, PyObject* o) {
    PyObject* r = PyObject_Repr(o);
    text += str("  - ", what, " ", r ? PyUnicode_AsUTF8(r) : "?", "\n");
    Py_XDECREF(r);
  };
  if (torch_function_mode_active()) add("mode object", modes().back());
  for (PyObject* o : found)
    add(is_tensor(o) ? "tensor subclass" : "object of", reinterpret_cast<PyObject*>(Py_TYPE(o)));
  PyErr_SetString(
      PyExc_TypeError, (text + "\nFor more information, try re-running with TORCH_LOGS=not_implemented").c_str());
  return nullptr;
}

}  // namespace

PyObject* torch_function::dispatch(
    PyObject* callable, const std::vector<PyObject*>& found, PyObject* args, PyObject* kwargs) {
  PyObject* types = PyTuple_New(Py_ssize_t(found.size()));
  if (!types) return nullptr;
  for (size_t i = 0; i < found.size(); ++i) {
    Py_INCREF(Py_TYPE(found[i]));
    PyTuple_SET_ITEM(types, i, reinterpret_cast<PyObject*>(Py_TYPE(found[i])));
  }
  PyObject* result = nullptr;
  if (torch_function_mode_active()) {
    result = call_mode(callable, types, args, kwargs);
    if (result != Py_NotImplemented) {
      Py_DECREF(types);
      return result;
    }
    Py_DECREF(result);
  }
  for (PyObject* o : found) {
    if (is_foreign_tensor(o)) {  // its handler would call ours again, without end
      Py_DECREF(types);
      return PyErr_Format(
          PyExc_TypeError, "%s: got a %s%s", public_name(callable).c_str(), Py_TYPE(o)->tp_name, foreign_note(o));
    }
    PyObject* hook = PyObject_GetAttr(o, hook_name());
    if (!hook) {
      Py_DECREF(types);
      return nullptr;
    }
    result = invoke(hook, callable, types, args, kwargs);
    Py_DECREF(hook);
    if (result != Py_NotImplemented) {
      Py_DECREF(types);
      return result;
    }
    Py_DECREF(result);
  }
  Py_DECREF(types);
  return raise_refused(callable, found);
}

bool torch_function_enabled() { return !subclasses_disabled && !all_disabled; }
bool torch_function_mode_active() { return !modes().empty() && !all_disabled; }

bool has_torch_function(PyObject* o) {
  if (!torch_function_enabled()) return false;
  PyObject* hook = hook_of(o);
  Py_XDECREF(hook);
  return hook != nullptr;
}

PyObject* call_torch_function(PyObject* callable, const CallArgs& c, Bound*) {
  std::vector<PyObject*> found;
  if (torch_function_enabled()) {
    for (size_t i = 0; i < c.nargs + c.nkw(); ++i) collect(c.args[i], found);
  }
  if (found.empty() && !torch_function_mode_active()) return nullptr;
  PyObject *args = pack_args(c), *kwargs = pack_kwargs(c);
  PyObject* result = args && kwargs ? dispatch(callable, found, args, kwargs) : nullptr;
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  return result;
}

}  // namespace shim
