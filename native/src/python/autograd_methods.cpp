// Methods of torch.Tensor about gradients: requires_grad_, detach, hooks.
#include "autograd/attributes.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/autograd_python.h"
#include "python/batching.h"
#include "python/module_parameters.h"
#include "python/object_methods.h"
#include "python/torch_dispatch.h"
#include "python/tensor_type.h"
#include "python/view_functions.h"

namespace shim {

namespace {

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
  if (__builtin_expect(running_transforms != 0, 0) && refuse_under_transforms("requires_grad_()")) return nullptr;
  return put_requires_grad(unwrap(self), on == Py_True, "only Tensors of floating point dtype can require gradients") <
                 0
             ? nullptr
             : Py_NewRef(self);
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

Tensor detach_inplace(TensorImpl& t) {
  detach_(t);
  return Tensor(&t);
}
void retain_grad_method(TensorImpl& t) {
  if (running_transforms && t.requires_grad() && refuse_under_transforms("retain_grad()")) throw PythonError();
  retain_grad(Tensor(&t));
}
AutogradMeta& of_hooked(TensorImpl& t) {
  CHECK(Kind::Runtime, t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  return t.ensure_autograd();
}
PyObject* register_hook(TensorImpl& t, PyObject* f) {
  AutogradMeta& m = of_hooked(t);
  auto hook = make<PythonHook>(f, PythonHook::OneTensor, m.grad_fn ? m.output_nr : 0);
  return add_hook(m.grad_fn ? m.grad_fn->tensor_pre_hooks : m.hooks, hook);
}
PyObject* register_post_accumulate(TensorImpl& t, PyObject* f) {
  AutogradMeta& m = of_hooked(t);
  CHECK(Kind::Runtime, !m.grad_fn, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  return add_hook(m.post_accumulate, make<PythonHook>(f, PythonHook::Accumulated));
}

using T = TensorImpl&;
PyMethodDef methods[] = {raw_function("requires_grad_", requires_grad_),
    {"detach", detach_method, METH_NOARGS, nullptr}, method_of_none<&detach_inplace>("detach_"),
    method_of_none<[](T t) { return t.autograd() && t.autograd()->base; }>("_is_view"),
    raw_function("_view_func", view_func), raw_function("_view_func_unsafe", view_func_unsafe),
    {"_rev_view_func_unsafe", rev_view_func_unsafe, METH_O, nullptr},
    method_of_none<&retain_grad_method>("retain_grad"), method_of_one<&register_hook>("register_hook"),
    method_of_one<&register_post_accumulate>("register_post_accumulate_grad_hook"), {}};

}  // namespace

int bind_autograd_methods() { return add_to_tensor(methods, nullptr); }

}  // namespace shim
