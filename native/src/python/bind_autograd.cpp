// Attributes of torch.Tensor about gradients: requires_grad, grad, grad_fn, hooks, data.
#include "autograd/attributes.h"
#include "autograd/function_hook.h"
#include "ops/kernels.h"
#include "python/attribute.h"
#include "python/autograd_python.h"
#include "python/dispatch.h"
#include "autograd/forward_mode.h"
#include "python/override.h"
#include "python/tensor_type.h"
#include "python/torch_dispatch.h"

namespace shim {

int put_requires_grad(TensorImpl* t, bool on, const char* refusal) {
  return assigned([&] { set_requires_grad(*t, on, refusal); });
}

bool make_require_grad(PyObject* tensor) {
  return put_requires_grad(
             unwrap(tensor), true, "Only Tensors of floating point and complex dtype can require gradients") == 0;
}

namespace {

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  if (!value || !PyBool_Check(value)) return PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool"), -1;
  return put_requires_grad(
      unwrap(self), value == Py_True, "only Tensors of floating point and complex dtype can require gradients");
}

PyObject* get_grad(PyObject* self, void*) {
  AutogradMeta* m = unwrap(self)->autograd();
  if (m && m->grad_fn && !m->retains_grad && !m->grad &&
      PyErr_WarnEx(PyExc_UserWarning,
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
          "populated during autograd.backward(). If "
          "you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
          "Tensor. If you access the non-leaf Tensor by mistake, make "
          "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
          1) < 0)
    return nullptr;
  return wrap(m ? m->grad : Tensor());
}

int set_grad(PyObject* self, PyObject* value, void*) {
  TensorImpl* t = unwrap(self);
  if (!value || value == Py_None) {
    if (t->autograd()) t->autograd()->grad.reset();
    return 0;
  }
  return assigned([&] {
    CHECK(Kind::Type, is_tensor(value), "assigned grad expected to be a Tensor or None but got grad of type ",
        Py_TYPE(value)->tp_name);
    set_grad(*t, Tensor(unwrap(value)));
  });
}

int clear_grad_fn(PyObject* self, PyObject* value, void*) {
  return assigned([&] {
    CHECK(Kind::Runtime, value, "Deletion of _grad_fn not allowed. Detach tensor instead!");
    CHECK(Kind::Runtime, value == Py_None, "_grad_fn can be only set to None");
    if (AutogradMeta* m = unwrap(self)->autograd()) {
      m->grad_fn.reset();
      m->base.reset();
    }
  });
}

// {id: hook} of a leaf's hooks, or None: what pickling and copying look at.
PyObject* hooks_of(const HookList& hooks) {
  if (hooks.empty()) Py_RETURN_NONE;
  std::map<void*, PyObject*> functions;
  for (auto& h : hooks) {
    auto* f = dynamic_cast<FunctionHook*>(h.get());
    if (!f) continue;
    auto* const function = static_cast<PyObject*>(f->function());
    if (f->is_dict()) return Py_NewRef(function);
    functions[f] = function;
  }
  OwnedRef dict = owned(PyDict_New());
  for (auto [id, f] : functions)
    if (PyDict_SetItem(dict, owned(PyLong_FromVoidPtr(id)), f) < 0) throw PythonError();
  return dict.give();
}
int set_hooks(PyObject* self, PyObject* value, void*) {
  if (!value) return PyErr_SetString(PyExc_RuntimeError, "Deletion of _backwards_hooks not allowed!"), -1;
  set_tensor_hooks(*unwrap(self), value == Py_None ? nullptr : value);
  return 0;
}

}  // namespace

// A handler makes the detached tensor; null without an error where there is none.
PyObject* detached_by_handler(PyObject* self) {
  static Operator* op = find_operator("aten::detach", "");
  if (!op || !wants_dispatch(&self, 1)) return nullptr;
  PyObject* r = call_torch_dispatch(*op, &self, 1);
  if (r && r != self && is_tensor(r)) count_together(*unwrap(self), *unwrap(r));
  return r;
}

// Results get an object's class through __torch_function__; a class that disabled it, as Parameter's, gets plain tensors.
bool keeps_class(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (type == TensorType || reinterpret_cast<PyObject*>(type) == ParameterType) return false;
  return torch_function_enabled() && has_torch_function(self);
}

namespace {

PyObject* get_data(PyObject* self, void*) {
  if (__builtin_expect(python_dispatch, 0)) {
    if (has_dispatch_handler(self)) return detached_by_handler(self);
    if (wants_dispatch(&self, 1)) return PyObject_CallMethod(self, "detach", nullptr);  // a mode sees it as that
  }
  return guarded([&]() -> PyObject* {
    Tensor d = alias(*unwrap(self));
    d->own_version() = std::make_shared<std::atomic<uint32_t>>(0);
    return keeps_class(self) ? wrap_as(d, Py_TYPE(self)) : wrap(d);
  });
}

int set_data(PyObject* self, PyObject* value, void*) {
  return assigned([&] {
    CHECK(Kind::Runtime, value, "Deleting tensor data is not allowed. Delete tensor instead!");
    CHECK(Kind::Type, is_tensor(value), "Variable data has to be a tensor, but got ", Py_TYPE(value)->tp_name);
    set_data(*unwrap(self), *unwrap(value));
  });
}

PyObject* grad_fn_of(TensorImpl& t) {
  if (!t.requires_grad()) Py_RETURN_NONE;
  refresh_view(t);
  return node_object(t.autograd()->grad_fn);
}

using T = TensorImpl&;
const TensorPart gradient_attributes{
    {}, {attribute<[](T t) { return t.requires_grad(); }>("requires_grad", set_requires_grad),
            {"grad", get_grad, set_grad, nullptr, nullptr}, {"_grad", get_grad, set_grad, nullptr, nullptr},
            attribute<grad_fn_of>("grad_fn"), attribute<grad_fn_of>("_grad_fn", clear_grad_fn),
            attribute<is_leaf>("is_leaf"),
            attribute<[](T t) { return int64_t(t.autograd() ? t.autograd()->output_nr : 0); }>("output_nr"),
            attribute<[](T t) { return t.autograd() && t.autograd()->retains_grad; }>("retains_grad"),
            attribute<[](T t) { return t.dtype(); }>("grad_dtype"),
            attribute<[](T t) { return t.autograd() ? t.autograd()->base : Tensor(); }>("_base"),
            {"data", get_data, set_data, nullptr, nullptr},
            attribute<[](T t) { return hooks_of(t.autograd() ? t.autograd()->hooks : HookList()); }>(
                "_backward_hooks", set_hooks),
            attribute<[](T t) { return hooks_of(t.autograd() ? t.autograd()->post_accumulate : HookList()); }>(
                "_post_accumulate_grad_hooks")}};

}  // namespace

int bind_autograd(PyObject* module) {
  for (auto bind : {bind_override, bind_node, bind_function, bind_saved})
    if (bind(module) < 0) return -1;
  return 0;
}

}  // namespace shim
