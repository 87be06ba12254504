// Methods of torch.Tensor about gradients: requires_grad_, detach, hooks.
#include "autograd/attributes.h"
#include "autograd/function_hook.h"
#include "autograd/nodes.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/autograd_python.h"
#include "python/batching.h"
#include "python/held_type.h"
#include "python/schema_function.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

Tensor requires_grad_(TensorImpl& t, bool on) {
  if (__builtin_expect(running_transforms != 0, 0) && refuse_under_transforms("requires_grad_()")) throw PythonError();
  set_requires_grad(t, on, "only Tensors of floating point dtype can require gradients");
  return Tensor(&t);
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
// Of a view's steps from another base; PyTorch's visitors of what the view function holds see nothing, for ours holds its geometry.
template <bool checked>
Tensor replayed(TensorImpl& view, const Tensor& base, std::optional<PyObject*> ints, std::optional<PyObject*> tensors) {
  CHECK(
      Kind::NotImplemented, !ints && !tensors, "torch.Tensor._view_func: shim-torch calls no visitors; leave them out");
  return replay_view(Tensor(&view), base, checked);
}
constexpr char kViewFunc[] =
    "_view_func(Tensor self, Tensor new_base, Any? symint_visitor_fn=None, Any? tensor_visitor_fn=None)";

using T = TensorImpl&;
const TensorPart gradient_methods{
    {schema_method<&requires_grad_, "requires_grad_(Tensor self, bool requires_grad=True)">(),
        {"detach", detach_method, METH_NOARGS, nullptr}, method_of_none<&detach_inplace>("detach_"),
        method_of_none<[](T t) { return t.autograd() && t.autograd()->base; }>("_is_view"),
        schema_method<&replayed<true>, kViewFunc>(), schema_method<&replayed<false>, kViewFunc>("_view_func_unsafe"),
        schema_method<[](T t, const Tensor& view) { return reversed_view(t, view); },
            "_rev_view_func_unsafe(Tensor self, Tensor new_view)">(),
        method_of_none<&retain_grad_method>("retain_grad"),
        method_of_one<[](T t, PyObject* f) { return add_tensor_hook(t, f); }>("register_hook"),
        method_of_one<[](T t, PyObject* f) { return add_accumulated_hook(t, f); }>(
            "register_post_accumulate_grad_hook")}};

}  // namespace

}  // namespace shim
