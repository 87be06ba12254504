// The __torch_dispatch__ protocol. What nobody uses costs one comparison a call: `python_dispatch`.
#include "python/torch_dispatch_state.h"

#include <algorithm>
#include <vector>

#include "autograd/autograd.h"
#include "python/forward_mode.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "ops/shown_overload.h"
#include "python/shown_call.h"
#include "python/values.h"
#include "python/sparse_dispatch.h"

namespace shim {

namespace torch_dispatch {

size_t modes_on = 0;
bool classes_seen = false;
PyObject* rules = nullptr;

std::vector<PyObject*>& modes() {
  static thread_local std::vector<PyObject*> stack;
  return stack;
}

Protocol protocol{"__torch_dispatch__", modes};

}  // namespace torch_dispatch

using namespace torch_dispatch;

namespace {

struct Within {  // a handler runs
  bool old = below_handler;
  Within() { below_handler = true; }
  ~Within() { below_handler = old; }
};

}  // namespace

bool torch_dispatch::has_handler(PyTypeObject* type) {
  const OwnedRef handler = protocol.hook_of(type);
  return handler.o && handler.o != Py_None;
}

PyObject* torch_dispatch::helper(const char* name) {  // of shim_torch._impl.transforms.torch_dispatch
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.transforms.torch_dispatch")};
  return module.o ? PyObject_GetAttrString(module.o, name) : nullptr;
}

namespace {

PyObject* overload_object(const Operator& op, PyObject* const* args, size_t n) {
  static PyObject* find = helper("overload");
  return find ? PyObject_CallFunction(
                    find, "ss", op.schema.qualified().c_str(), shown_overload(op, Values(args, n).data(), n).c_str())
              : nullptr;
}

PyObject* rule_for(PyObject* func, PyTypeObject* type) {  // borrowed, or null
  if (!rules || !PyDict_GET_SIZE(rules)) return nullptr;
  OwnedRef name{PyObject_GetAttrString(func, "_name")};
  PyObject* by_class = name.o ? PyDict_GetItem(rules, name.o) : nullptr;
  PyErr_Clear();
  return by_class ? PyDict_GetItem(by_class, reinterpret_cast<PyObject*>(type)) : nullptr;
}

PyObject* invoke(
    PyObject* owner, PyTypeObject* type, PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  if (PyObject* rule = rule_for(func, type))
    return PyObject_CallFunctionObjArgs(rule, owner, func, types, args, kwargs, nullptr);
  OwnedRef h{PyObject_GetAttr(owner, protocol.attribute)};
  if (h.o && owner != reinterpret_cast<PyObject*>(type) && PyMethod_Check(h.o) && PyType_Check(PyMethod_GET_SELF(h.o)))
    return PyErr_Format(PyExc_RuntimeError,
        "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please make it a plain method");
  return h.o ? PyObject_CallFunctionObjArgs(h.o, func, types, args, kwargs, nullptr) : nullptr;
}

std::string name_of(PyObject* operator_object) {
  const OwnedRef name{PyObject_Str(operator_object)};
  return str("torch.ops.", name.o ? PyUnicode_AsUTF8(name) : "?");
}

PyObject* call_handlers(Operator& op, PyObject* const* args, size_t n) {
  std::vector<PyObject*> found;
  for (size_t i = 0; i < n; ++i)
    collect_by_class(args[i], found, [](PyObject* o) { return is_tensor(o) && has_handler(Py_TYPE(o)); });
  OwnedRef func{overload_object(op, args, n)}, types = classes_of(found), positional, keywords;
  if (!func.o || !types.o || !shown_arguments(op, args, n, &positional.o, &keywords.o)) return nullptr;
  PyObject* r = protocol.ask(
      !modes().empty(), found, [&] { return name_of(func); },
      [&](PyObject* o, bool mode) {
        PyObject* owner = mode ? o : reinterpret_cast<PyObject*>(Py_TYPE(o));
        return invoke(owner, Py_TYPE(o), func, types, positional, keywords);
      });
  if (r && PyList_CheckExact(r) && op.schema.returns.size() == 1) Py_SETREF(r, PySequence_Tuple(r));  // Tensor[]
  return r;
}

bool makes_new(const Operator& op) {  // zeros_like, new_empty: results without a history, of an argument's kind
  const std::string_view name = op.schema.name;
  return name.starts_with("new_") || name.ends_with("_like");
}

// Whether the formulas for handlers give every gradient that is wanted.
bool shows_gradients(const Operator& op, PyObject* const* args, size_t n) {
  if (op.shown.empty()) return false;
  for (size_t i = 0; i < n && i < op.schema.args.size(); ++i) {
    if (!any_requires_grad(&args[i], 1)) continue;
    const std::string& name = op.schema.args[i].name;
    if (std::none_of(op.shown.begin(), op.shown.end(),
            [&](const Formula& f) { return std::count(f.inputs.begin(), f.inputs.end(), name) > 0; }))
      return false;
  }
  return true;
}

bool grad_wanted(PyObject* const* args, size_t n) { return GradMode::enabled() && any_requires_grad(args, n); }

}  // namespace

bool below_python_dispatch() { return below_handler; }
bool dispatch_mode_active() { return !modes().empty() && !handlers_disabled; }
bool has_dispatch_handler(PyObject* tensor) {
  return classes_seen && !handlers_disabled && has_handler(Py_TYPE(tensor));
}

bool wants_dispatch(PyObject* const* args, size_t n) {
  if (handlers_disabled) return false;
  if (!modes().empty()) return true;
  if (!classes_seen) return false;
  for (size_t i = 0; i < n; ++i) {
    PyObject* o = args[i];
    if (is_tensor(o)) {
      if (has_handler(Py_TYPE(o))) return true;
    } else if ((PyTuple_Check(o) || PyList_Check(o)) &&
               wants_dispatch(&PySequence_Fast_GET_ITEM(o, 0), size_t(PySequence_Fast_GET_SIZE(o)))) {
      return true;
    }
  }
  return false;
}

bool wants_dispatch_of(const Value* args, size_t n) {
  if (handlers_disabled || !modes().empty()) return !handlers_disabled;
  return classes_seen && any_tensor(args, n, [](TensorImpl& t) {
    return t.pyobj && has_handler(Py_TYPE(static_cast<PyObject*>(t.pyobj)));
  });
}

PyObject* ask_handler(PyObject* self, const char* name, PyObject* argument) {
  if (!has_dispatch_handler(self)) return nullptr;
  static PyObject* find = helper("overload");
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  OwnedRef func{find ? PyObject_CallFunction(find, "ss", name, argument ? "memory_format" : "") : nullptr},
      types{PyTuple_Pack(1, type)};
  OwnedRef args{argument ? PyTuple_Pack(2, self, argument) : PyTuple_Pack(1, self)}, kwargs{PyDict_New()};
  if (!func.o || !types.o || !args.o || !kwargs.o) return nullptr;
  Within handler;
  OwnedRef r{invoke(type, Py_TYPE(self), func.o, types.o, args.o, kwargs.o)};
  if (r.o == Py_NotImplemented) {
    OwnedRef packet{PyObject_Str(OwnedRef(PyObject_GetAttrString(func.o, "overloadpacket")).o)};
    return packet.o ? protocol.refused(name_of(packet), {self}) : nullptr;
  }
  return r.o && r.o != Py_None ? Py_NewRef(r.o) : nullptr;
}

PyObject* call_torch_dispatch(Operator& op, PyObject* const* args, size_t n) {
  Within handler;
  return call_handlers(op, args, n);
}

// A composite of ours whose parts record history is shown to modes as it is, history and all; a subclass that wants gradients
// sees its parts. An operator of ours that is a composite in PyTorch runs as PyTorch's parts.
PyObject* dispatch_composite(Operator& op, PyObject* const* args, size_t n, bool* done) {
  *done = false;
  if (handlers_disabled || !wants_dispatch(args, n)) return nullptr;
  if (forward_gradients() && any_tangent(args, n)) return nullptr;  // its parts carry tangents on
  const bool grad = grad_wanted(args, n) && !makes_new(op);
  if (grad && op.dispatch_leaf &&
      shows_gradients(op, args, n)) {  // below its history, which PyTorch's backward operator is
    *done = true;
    PyObject* r;
    {
      NoGrad off;
      r = call_torch_dispatch(op, args, n);
    }
    return r ? with_history(op, args, n, r) : nullptr;
  }
  if (modes().empty() && grad) return nullptr;
  // A fake mode alone makes leaves: the history is that of the parts, which are shown to it one by one.
  if (grad && modes().size() == 1 && PyObject_HasAttrString(modes()[0], "_makes_leaves")) return nullptr;
  if (PyObject* parts = python_of(op).dispatch_parts) {
    *done = true;
    return PyObject_Vectorcall(parts, args, n, nullptr);
  }
  if (!op.dispatch_leaf || (grad && PyObject_HasAttrString(modes().back(), "_cuts_history"))) return nullptr;
  *done = true;
  if (!grad) return call_torch_dispatch(op, args, n);
  return call_handlers(op, args, n);
}

bool class_has_handler(PyTypeObject* type) { return has_handler(type); }

void note_class(PyTypeObject* type) {
  if (classes_seen || !has_handler(type)) return;
  classes_seen = true;
  refresh();
}

void note_sparse() {
  if (sparse_seen) return;
  sparse_seen = true;
  refresh();
}

void torch_dispatch::refresh() {
  python_dispatch = modes_on || classes_seen || sparse_seen;
  if (python_dispatch) prepare_engine();
}

}  // namespace shim
