// Attributes of torch.Tensor about gradients: requires_grad, grad, grad_fn, hooks, data.
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/autograd_python.h"
#include "python/dispatch.h"
#include "python/forward_mode.h"
#include "python/override.h"
#include "python/tensor_type.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

std::string cpp_name(DType t) {  // what C++ calls it, as PyTorch's text does
  switch (t) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::i64: return "long int";
    case DType::i32: return "int";
    default: return scalar_name(t);
  }
}

bool can_have_grad(const TensorImpl& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

// --- attributes -------------------------------------------------------------------------------------------------------------

PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return PyBool_FromLong(unwrap(self)->requires_grad()); });
}

}  // namespace

int put_requires_grad(TensorImpl* t, bool on, const char* refusal) {
  return guarded([&]() -> int {
    AutogradMeta* m = t->autograd();
    bool leaf = !m || !m->grad_fn;
    if (leaf && m && m->base) {
      t->requires_grad();
      leaf = !m->grad_fn;
    }
    CHECK(Kind::Runtime, leaf || on,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
        "subgraph that doesn't require "
        "differentiation use var_no_grad = var.detach().");
    CHECK(Kind::Runtime, !on || can_have_grad(*t), refusal);
    CHECK(Kind::Runtime, !on || !t->is_inference || InferenceMode::enabled(),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    if (leaf && (on || m)) t->ensure_autograd().requires_grad = on;
    return 1;
  }) == 1
             ? 0
             : -1;
}

bool make_require_grad(PyObject* tensor) {
  return put_requires_grad(
             unwrap(tensor), true, "Only Tensors of floating point and complex dtype can require gradients") == 0;
}

namespace {

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  if (!value || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
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
  return guarded([&]() -> int {
    CHECK(Kind::Type, is_tensor(value), "assigned grad expected to be a Tensor or None but got grad of type ",
        Py_TYPE(value)->tp_name);
    TensorImpl* g = unwrap(value);
    CHECK(Kind::Runtime, g != t, "can't assign Variable as its own grad");
    CHECK(Kind::Runtime, g->dtype() == t->dtype(), "attempting to assign a gradient with dtype '", cpp_name(g->dtype()),
        "' to a tensor with grad_dtype '", scalar_name(t->dtype()),
        "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
        "grad_dtype attribute with a specific dtype, or None to allow "
        "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
        "downstream systems that assume they match.");
    CHECK(Kind::Runtime, g->device() == t->device(), "attempting to assign a gradient located on device with type ",
        to_string(g->device()), " to a tensor with device type ", to_string(t->device()),
        ". Please ensure that the gradient and the tensor are on the same device");
    CHECK(Kind::Runtime, std::equal(g->sizes().begin(), g->sizes().end(), t->sizes().begin(), t->sizes().end()),
        "attempting to assign a gradient of size '", bracketed(g->sizes()), "' to a tensor of size '",
        bracketed(t->sizes()), "'. Please ensure that the gradient and the tensor are the same size");
    t->ensure_autograd().grad = Tensor(g);
    return 1;
  }) == 1
             ? 0
             : -1;
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    if (!t->requires_grad()) Py_RETURN_NONE;
    refresh_view(*t);
    return node_object(t->autograd()->grad_fn);
  });
}

int clear_grad_fn(PyObject* self, PyObject* value, void*) {
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "Deletion of _grad_fn not allowed. Detach tensor instead!");
    return -1;
  }
  if (value != Py_None) {
    PyErr_SetString(PyExc_RuntimeError, "_grad_fn can be only set to None");
    return -1;
  }
  if (AutogradMeta* m = unwrap(self)->autograd()) {
    m->grad_fn.reset();
    m->base.reset();
  }
  return 0;
}

PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    if (!t->requires_grad()) Py_RETURN_TRUE;
    refresh_view(*t);
    return PyBool_FromLong(!t->autograd()->grad_fn);
  });
}
PyObject* get_output_nr(PyObject* self, void*) {
  AutogradMeta* m = unwrap(self)->autograd();
  return PyLong_FromLong(m ? m->output_nr : 0);
}
PyObject* get_retains_grad(PyObject* self, void*) {
  TensorImpl* t = unwrap(self);
  AutogradMeta* m = t->autograd();
  return PyBool_FromLong(m && m->retains_grad);
}
PyObject* get_grad_dtype(PyObject* self, void*) { return dtype_object(unwrap(self)->dtype()); }
PyObject* get_base(PyObject* self, void*) {
  AutogradMeta* m = unwrap(self)->autograd();
  return wrap(m ? m->base : Tensor());
}

// {id: hook} of a leaf's hooks, or None: what pickling and copying look at.
PyObject* hooks_of(const HookList& hooks) {
  if (hooks.empty()) Py_RETURN_NONE;
  for (auto& h : hooks)
    if (auto* p = dynamic_cast<PythonHook*>(h.get()); p && p->form() == PythonHook::Dict)
      return Py_NewRef(p->callable());
  PyObject* dict = PyDict_New();
  for (auto& h : hooks) {
    auto* p = dynamic_cast<PythonHook*>(h.get());
    PyObject* id = p ? PyLong_FromVoidPtr(p) : nullptr;
    if (id) PyDict_SetItem(dict, id, p->callable());
    Py_XDECREF(id);
  }
  return dict;
}
PyObject* get_hooks(PyObject* self, void*) {
  AutogradMeta* m = unwrap(self)->autograd();
  return hooks_of(m ? m->hooks : HookList());
}
PyObject* get_post_accumulate(PyObject* self, void*) {
  AutogradMeta* m = unwrap(self)->autograd();
  return hooks_of(m ? m->post_accumulate : HookList());
}

int set_hooks(PyObject* self, PyObject* value, void*) {
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "Deletion of _backwards_hooks not allowed!");
    return -1;
  }
  AutogradMeta& m = unwrap(self)->ensure_autograd();
  std::vector<Ref<Hook>> old;
  m.hooks.leave();
  old.swap(m.hooks);
  if (value == Py_None) return 0;
  m.hooks.emplace_back(new PythonHook(value, PythonHook::Dict));
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
  if (__builtin_expect(python_dispatch, 0) && has_dispatch_handler(self)) return detached_by_handler(self);
  return guarded([&]() -> PyObject* {
    Tensor d = alias(*unwrap(self));
    d->own_version() = std::make_shared<std::atomic<uint32_t>>(0);
    return keeps_class(self) ? wrap_as(d, Py_TYPE(self)) : wrap(d);
  });
}

int set_data(PyObject* self, PyObject* value, void*) {
  return guarded([&]() -> int {
    CHECK(Kind::Runtime, value, "Deleting tensor data is not allowed. Delete tensor instead!");
    CHECK(Kind::Type, value && is_tensor(value), "Variable data has to be a tensor, but got ",
        value ? Py_TYPE(value)->tp_name : "nothing");
    TensorImpl *t = unwrap(self), *from = unwrap(value);
    CHECK(Kind::Runtime, is_sparse(*t) == is_sparse(*from),
        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.");
    CHECK(Kind::Runtime, !t->requires_grad() || can_have_grad(*from),
        "data set to a tensor that requires gradients must be floating point or complex dtype");
    t->keep_version();
    t->set_storage(from->storage());
    t->set_dtype(from->dtype());
    t->is_conj = from->is_conj;
    t->is_neg = from->is_neg;
    t->set_geometry(from->sizes(), from->strides(), from->storage_offset());
    if (AutogradMeta* m = t->autograd(); m && m->accumulator && !m->accumulator->inputs.empty()) {
      m->accumulator->inputs.clear();
      m->accumulator->add_input(*t);
    }
    return 1;
  }) == 1
             ? 0
             : -1;
}

PyGetSetDef getset[] = {{"requires_grad", get_requires_grad, set_requires_grad, nullptr, nullptr},
    {"grad", get_grad, set_grad, nullptr, nullptr}, {"_grad", get_grad, set_grad, nullptr, nullptr},
    {"grad_fn", get_grad_fn, nullptr, nullptr, nullptr}, {"_grad_fn", get_grad_fn, clear_grad_fn, nullptr, nullptr},
    {"is_leaf", get_is_leaf, nullptr, nullptr, nullptr}, {"output_nr", get_output_nr, nullptr, nullptr, nullptr},
    {"retains_grad", get_retains_grad, nullptr, nullptr, nullptr},
    {"grad_dtype", get_grad_dtype, nullptr, nullptr, nullptr}, {"_base", get_base, nullptr, nullptr, nullptr},
    {"data", get_data, set_data, nullptr, nullptr}, {"_backward_hooks", get_hooks, set_hooks, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", get_post_accumulate, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

int bind_autograd(PyObject* module) {
  install_engine_ops();
  if (add_to_tensor(nullptr, getset) < 0 || bind_autograd_methods() < 0) return -1;
  bool failed = bind_forward_mode(module) < 0 || bind_override(module) < 0 || bind_hooks() < 0 ||
                bind_node(module) < 0 || bind_function(module) < 0 || bind_saved(module) < 0 ||
                bind_backward(module) < 0 || bind_anomaly(module) < 0;
  return failed ? -1 : 0;
}

}  // namespace shim
