// The __torch_function__ protocol: subclasses, foreign objects and modes.
#include <vector>
#include <utility>

#include "autograd/autograd.h"
#include "core/sparse.h"
#include "python/dispatch.h"
#include "python/piecewise_constant.h"
#include "python/foreign.h"

namespace shim {

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

thread_local bool subclasses_disabled = false, all_disabled = false;
thread_local std::vector<PyObject*> modes;  // owned

PyObject* hook_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}
PyObject* disabled_impl = nullptr;  // torch._C._disabled_torch_function_impl

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

// Overloaded arguments, subclasses before their bases, each type once.
void collect(PyObject* o, std::vector<PyObject*>& found) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) collect(PySequence_Fast_GET_ITEM(o, i), found);
    return;
  }
  PyObject* hook = hook_of(o);
  if (!hook) return;
  Py_DECREF(hook);
  add_by_class(o, found);
}

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
  PyObject* mode = modes.back();
  modes.pop_back();  // inside its own handler a mode is off
  PyObject* hook = PyObject_GetAttr(mode, hook_name());
  PyObject* result = hook ? invoke(hook, callable, types, args, kwargs) : nullptr;
  Py_XDECREF(hook);
  modes.push_back(mode);
  return result;
}

std::string text_of(PyObject* o, const char* attribute) {
  PyObject* v = PyObject_GetAttrString(o, attribute);
  const char* text = v && PyUnicode_Check(v) ? PyUnicode_AsUTF8(v) : nullptr;
  std::string s = text ? text : "";
  Py_XDECREF(v);
  PyErr_Clear();
  return s;
}

// torch.add, torch.Tensor.add, torch.Tensor.shape.__get__
std::string public_name(PyObject* callable) {
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

PyObject* raise_refused(PyObject* callable, const std::vector<PyObject*>& found) {
  std::string text = str("Multiple dispatch failed for '", public_name(callable),
      "'; all __torch_function__ handlers returned NotImplemented:\n\n");
  auto add = [&](const char* what, PyObject* o) {
    PyObject* r = PyObject_Repr(o);
    text += str("  - ", what, " ", r ? PyUnicode_AsUTF8(r) : "?", "\n");
    Py_XDECREF(r);
  };
  if (torch_function_mode_active()) add("mode object", modes.back());
  for (PyObject* o : found)
    add(is_tensor(o) ? "tensor subclass" : "object of", reinterpret_cast<PyObject*>(Py_TYPE(o)));
  PyErr_SetString(
      PyExc_TypeError, (text + "\nFor more information, try re-running with TORCH_LOGS=not_implemented").c_str());
  return nullptr;
}

PyObject* dispatch(PyObject* callable, const std::vector<PyObject*>& found, PyObject* args, PyObject* kwargs) {
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

}  // namespace

bool torch_function_enabled() { return !subclasses_disabled && !all_disabled; }
bool torch_function_mode_active() { return !modes.empty() && !all_disabled; }

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

namespace {

PyObject* disabled_function(PyObject*, PyObject* args) {  // (func, types, args, kwargs=None)
  PyObject *func, *types, *positional = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO", &func, &types, &positional, &kwargs)) return nullptr;
  bool old = subclasses_disabled;
  subclasses_disabled = true;
  PyObject* none = PyTuple_New(0);
  PyObject* tuple = positional ? PySequence_Tuple(positional) : Py_NewRef(none);
  PyObject* result = tuple ? PyObject_Call(func, tuple, kwargs && kwargs != Py_None ? kwargs : nullptr) : nullptr;
  Py_XDECREF(tuple);
  Py_DECREF(none);
  subclasses_disabled = old;
  return result;
}

// Tensor.__torch_function__: run it plainly, then give results the subclass, as PyTorch does.
bool keeps_type(PyObject* func) {
  if (text_of(func, "__name__") != "__get__") return false;
  PyObject* attribute = PyObject_GetAttrString(func, "__self__");
  std::string name = attribute ? text_of(attribute, "__name__") : "";
  Py_XDECREF(attribute);
  PyErr_Clear();
  return name == "grad" || name == "_grad" || name == "_base";
}

// A view of it all as an instance of a subclass.
PyObject* as_subclass(const Tensor& t, PyTypeObject* cls) {
  Tensor same = alias_with_history(t);
  if (has_data(*t) && !is_sparse(*t)) mark_view(same, t);
  return wrap_as(same, cls);
}

PyObject* py_as_subclass(PyObject* self, PyObject* cls) {
  if (!PyType_Check(cls)) return PyErr_Format(PyExc_TypeError, "cls must be a type (got %s)", Py_TYPE(cls)->tp_name);
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), TensorBaseType)) {
    PyErr_SetString(PyExc_RuntimeError,
        "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
        "Make sure your class inherits from Tensor.");
    return nullptr;
  }
  return guarded(
      [&]() -> PyObject* { return as_subclass(Tensor(unwrap(self)), reinterpret_cast<PyTypeObject*>(cls)); });
}

PyObject* converted(PyObject* result, PyTypeObject* cls) {  // steals
  if (!result) return nullptr;
  if (is_tensor(result) && !PyObject_TypeCheck(result, cls)) {
    PyObject* as = guarded([&]() -> PyObject* { return as_subclass(Tensor(unwrap(result)), cls); });
    Py_DECREF(result);
    return as;
  }
  if (PyTuple_Check(result) || PyList_Check(result)) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(result);
    PyObject* list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; ++i) {
      PyObject* e = converted(Py_NewRef(PySequence_Fast_GET_ITEM(result, i)), cls);
      if (!e) {
        Py_CLEAR(list);
        break;
      }
      PyList_SET_ITEM(list, i, e);
    }
    PyObject* out = nullptr;
    if (list) {
      PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(result));
      out = PyList_CheckExact(result) ? Py_NewRef(list) : PyObject_CallOneArg(type, list);
    }
    Py_XDECREF(list);
    Py_DECREF(result);
    return out;
  }
  return result;
}

// Calls of Tensor.__torch_function__ that run now. A function that comes back with the same arguments is another
// PyTorch's: ours asks nobody while subclasses are disabled.
struct Running {
  PyObject *func, *args;
  const Running* outer;
};
thread_local const Running* running = nullptr;

bool comes_back(PyObject* func, PyObject* args) {
  if (!subclasses_disabled || !PyTuple_Check(args)) return false;
  for (const Running* r = running; r; r = r->outer) {
    if (!PyTuple_Check(r->args) || PyTuple_GET_SIZE(r->args) != PyTuple_GET_SIZE(args)) continue;
    bool same = true;
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(args); ++i)
      same = PyTuple_GET_ITEM(args, i) == PyTuple_GET_ITEM(r->args, i);
    int equal = same ? PyObject_RichCompareBool(func, r->func, Py_EQ) : 0;  // bound slots are new objects each time
    if (equal < 0) PyErr_Clear();
    if (equal == 1) return true;
  }
  return false;
}

PyObject* run_plainly(PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  if (comes_back(func, args))
    return PyErr_Format(PyExc_TypeError,
        "%s of the PyTorch that is installed here was called with a tensor of shim_torch; give it "
        "torch.from_dlpack(tensor), which copies nothing",
        public_name(func).c_str());
  PyObject* pass = PyTuple_Pack(4, func, types, args, kwargs);
  if (!pass) return nullptr;
  const Running now{func, args, running};
  running = &now;
  PyObject* result = disabled_function(nullptr, pass);
  running = now.outer;
  Py_DECREF(pass);
  return result;
}

PyObject* default_function(PyObject* cls, PyObject* args, PyObject* kw) {
  static const char* words[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *func, *types, *positional = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|OO", const_cast<char**>(words), &func, &types, &positional, &kwargs))
    return nullptr;
  PyObject* given = PySequence_Fast(types, "types must be a sequence");
  if (!given) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); ++i) {
    int sub = PyObject_IsSubclass(cls, PySequence_Fast_GET_ITEM(given, i));
    if (sub <= 0) {
      Py_DECREF(given);
      if (sub < 0) return nullptr;
      Py_RETURN_NOTIMPLEMENTED;
    }
  }
  Py_DECREF(given);
  PyObject* inputs = positional ? Py_NewRef(positional) : PyTuple_New(0);
  PyObject* result = inputs ? run_plainly(func, types, inputs, kwargs ? kwargs : Py_None) : nullptr;
  Py_XDECREF(inputs);
  if (!result || keeps_type(func)) return result;
  return converted(result, reinterpret_cast<PyTypeObject*>(cls));
}

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
  modes.push_back(Py_NewRef(mode));
  Py_RETURN_NONE;
}
PyObject* py_pop(PyObject*, PyObject*) {
  if (modes.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "Tried to pop from the torch function mode stack while it is empty");
    return nullptr;
  }
  PyObject* mode = modes.back();
  modes.pop_back();
  return mode;
}
PyObject* py_len(PyObject*, PyObject*) { return PyLong_FromSize_t(modes.size()); }
PyObject* py_at(PyObject*, PyObject* index) {
  Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (i < 0 || size_t(i) >= modes.size()) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "torch function mode stack");
    return nullptr;
  }
  return Py_NewRef(modes[size_t(i)]);
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

PyMethodDef default_method = {"__torch_function__",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(default_function)), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
    "Runs func, then converts tensors to the subclass."};

PyMethodDef as_subclass_method = {
    "as_subclass", py_as_subclass, METH_O, "The same tensor as an instance of a subclass; shares memory and history."};

}  // namespace

int bind_torch_function(PyObject* module) {
  if (PyModule_AddFunctions(module, torch_function_functions) < 0) return -1;
  disabled_impl = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  if (!disabled_impl) return -1;
  PyObject* method = PyDescr_NewClassMethod(TensorBaseType, &default_method);
  if (!method) return -1;
  int rc = PyDict_SetItemString(TensorBaseType->tp_dict, "__torch_function__", method);
  Py_DECREF(method);
  if (rc == 0 && !PyDict_GetItemString(TensorBaseType->tp_dict, "as_subclass")) {
    PyObject* as = PyDescr_NewMethod(TensorBaseType, &as_subclass_method);
    rc = as ? PyDict_SetItemString(TensorBaseType->tp_dict, "as_subclass", as) : -1;
    Py_XDECREF(as);
  }
  PyType_Modified(TensorBaseType);
  return rc;
}

}  // namespace shim
