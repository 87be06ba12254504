// Methods of torch.Tensor about gradients: requires_grad_, detach, hooks.
#include "autograd/attributes.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/autograd_python.h"
#include "python/batching.h"
#include "python/torch_dispatch.h"
#include "python/tensor_type.h"
#include "python/view_functions.h"

namespace shim {

namespace {

PyObject* returned(PyObject* o) {
  Py_INCREF(o);
  return o;
}

PyObject* requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"requires_grad", nullptr};
  PyObject* on = Py_True;
  if (PyTuple_GET_SIZE(args) > 1)
    return PyErr_Format(PyExc_TypeError, "requires_grad_() takes from 0 to 1 positional arguments but %zd were given",
        PyTuple_GET_SIZE(args));
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:requires_grad_", const_cast<char**>(names), &on)) return nullptr;
  if (!PyBool_Check(on))
    return PyErr_Format(PyExc_TypeError, "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s",
        Py_TYPE(on)->tp_name);
  if (__builtin_expect(running_transforms() != 0, 0) && refuse_under_transforms("requires_grad_()")) return nullptr;
  return put_requires_grad(unwrap(self), on == Py_True, "only Tensors of floating point dtype can require gradients") <
                 0
             ? nullptr
             : returned(self);
}

PyObject* detach_method(PyObject* self, PyObject*) {
  if (__builtin_expect(python_dispatch, 0)) {
    PyObject* r = detached_by_handler(self);
    if (r || PyErr_Occurred()) return r;
  }
  return guarded([&]() -> PyObject* {
    Tensor d = detach(Tensor(unwrap(self)));
    return keeps_class(self) ? wrap_as(d, Py_TYPE(self)) : wrap(d);
  });
}

PyObject* detach_inplace(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    detach_(*unwrap(self));
    return returned(self);
  });
}

PyObject* is_view(PyObject* self, PyObject*) {
  AutogradMeta* m = unwrap(self)->autograd();
  return PyBool_FromLong(m && m->base);
}

PyObject* retain_grad_method(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (running_transforms() && unwrap(self)->requires_grad() && refuse_under_transforms("retain_grad()"))
      return nullptr;
    retain_grad(Tensor(unwrap(self)));
    Py_RETURN_NONE;
  });
}

PyObject* register_hook(PyObject* self, PyObject* f) {
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    CHECK(Kind::Runtime, t->requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
    AutogradMeta& m = t->ensure_autograd();
    auto hook = make<PythonHook>(f, PythonHook::OneTensor, m.grad_fn ? m.output_nr : 0);
    return add_hook(m.grad_fn ? m.grad_fn->tensor_pre_hooks : m.hooks, hook);
  });
}

PyObject* register_post_accumulate(PyObject* self, PyObject* f) {
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    CHECK(Kind::Runtime, t->requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
    AutogradMeta& m = t->ensure_autograd();
    CHECK(Kind::Runtime, !m.grad_fn, "post accumulate grad hooks cannot be registered on non-leaf tensors");
    return add_hook(m.post_accumulate, make<PythonHook>(f, PythonHook::Accumulated));
  });
}

PyMethodDef methods[] = {raw_function("requires_grad_", requires_grad_),
    {"detach", detach_method, METH_NOARGS, nullptr}, {"detach_", detach_inplace, METH_NOARGS, nullptr},
    {"_is_view", is_view, METH_NOARGS, nullptr}, raw_function("_view_func", view_func),
    raw_function("_view_func_unsafe", view_func_unsafe),
    {"_rev_view_func_unsafe", rev_view_func_unsafe, METH_O, nullptr},
    {"retain_grad", retain_grad_method, METH_NOARGS, nullptr}, {"register_hook", register_hook, METH_O, nullptr},
    {"register_post_accumulate_grad_hook", register_post_accumulate, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_autograd_methods() { return add_to_tensor(methods, nullptr); }

}  // namespace shim
