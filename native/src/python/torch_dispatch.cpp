// The __torch_dispatch__ protocol. What nobody uses costs one comparison a call: `python_dispatch`.
#include "python/torch_dispatch_state.h"

#include <algorithm>
#include <vector>

#include "autograd/autograd.h"
#include "autograd/forward_mode.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "ops/shown_overload.h"
#include "python/shown_call.h"
#include "python/lent_objects.h"
#include "python/values.h"

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

bool torch_dispatch::has_handler(PyTypeObject* type) {
  const OwnedRef handler = protocol.hook_of(type);
  return handler.o && handler.o != Py_None;
}

PyObject* torch_dispatch::helper(const char* name) {  // of shim_torch._impl.transforms.torch_dispatch
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.transforms.torch_dispatch")};
  return module.o ? PyObject_GetAttrString(module.o, name) : nullptr;
}

namespace {

PyObject* overload_object(const Operator& op, const Value* args, size_t n) {
  static PyObject* find = helper("overload");
  return find ? PyObject_CallFunction(find, "ss", op.schema.qualified().c_str(), shown_overload(op, args, n).c_str())
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

bool is_special(const TensorImpl& t) {
  return classes_seen && !handlers_disabled && t.pyobj && has_handler(Py_TYPE(static_cast<PyObject*>(t.pyobj)));
}

}  // namespace

void torch_dispatch::ask_handlers(Operator& op, const Value* values, size_t n, Result& result) {
  LentObjects objects(op, values, n);
  PyObject* const* args = objects.data();
  std::vector<PyObject*> found;
  for (size_t i = 0; i < n; ++i)
    collect_by_class(args[i], found, [](PyObject* o) { return is_tensor(o) && has_handler(Py_TYPE(o)); });
  OwnedRef func = owned(overload_object(op, values, n)), types = classes_of(found), positional, keywords;
  if (!types.o || !shown_arguments(op, args, n, &positional.o, &keywords.o)) throw PythonError();
  PyObject* r = protocol.ask(
      !modes().empty(), found, [&] { return name_of(func); },
      [&](PyObject* o, bool mode) {
        PyObject* owner = mode ? o : reinterpret_cast<PyObject*>(Py_TYPE(o));
        return invoke(owner, Py_TYPE(o), func, types, positional, keywords);
      });
  if (r && PyList_CheckExact(r) && op.schema.returns.size() == 1) Py_SETREF(r, PySequence_Tuple(r));  // Tensor[]
  hold(result, r);
}

bool dispatch_mode_active() { return !modes().empty() && !handlers_disabled; }
bool has_dispatch_handler(PyObject* tensor) {
  return classes_seen && !handlers_disabled && has_handler(Py_TYPE(tensor));
}

bool wants_dispatch(PyObject* const* args, size_t n) { return wants_dispatch(Values(args, n).data(), n); }

PyObject* ask_handler(PyObject* self, const char* name, PyObject* argument) {
  if (!has_dispatch_handler(self)) return nullptr;
  static PyObject* find = helper("overload");
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  OwnedRef func{find ? PyObject_CallFunction(find, "ss", name, argument ? "memory_format" : "") : nullptr},
      types{PyTuple_Pack(1, type)};
  OwnedRef args{argument ? PyTuple_Pack(2, self, argument) : PyTuple_Pack(1, self)}, kwargs{PyDict_New()};
  if (!func.o || !types.o || !args.o || !kwargs.o) return nullptr;
  const BelowHandler within;
  OwnedRef r{invoke(type, Py_TYPE(self), func.o, types.o, args.o, kwargs.o)};
  if (r.o == Py_NotImplemented) {
    OwnedRef packet{PyObject_Str(OwnedRef(PyObject_GetAttrString(func.o, "overloadpacket")).o)};
    return packet.o ? protocol.refused(name_of(packet), {self}) : nullptr;
  }
  return r.o && r.o != Py_None ? Py_NewRef(r.o) : nullptr;
}

PyObject* call_torch_dispatch(Operator& op, PyObject* const* args, size_t n) {
  return by_values(call_handlers, op, args, n);
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
  if (!python_dispatch || SubclassOps::special) return;
  SubclassOps::special = is_special;
  watch_engine();
  OwnedRef mark{helper("prepare")};
  OwnedRef r{mark.o ? PyObject_CallNoArgs(mark.o) : nullptr};
  if (!r.o) PyErr_WriteUnraisable(Py_None);
}

}  // namespace shim
