#include "python/batching.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "python/dispatch.h"
#include "python/lent_objects.h"
#include "python/module_function.h"
#include "python/torch_dispatch.h"

namespace shim {

PyTypeObject* batched_class = nullptr;

namespace {

PyObject* lift_function = nullptr;   // (arguments) -> arguments, or None where nothing changes
PyObject* apply_function = nullptr;  // (class, arguments) -> results

bool is_batched(const TensorImpl& t) { return t.pyobj && Py_TYPE(static_cast<PyObject*>(t.pyobj)) == batched_class; }

void set_batching(PyObject* cls, PyObject* lift, PyObject* apply) {
  CHECK(Kind::Type, PyType_Check(cls), "set_batching(class, lift, apply)");
  Py_XSETREF(lift_function, Py_NewRef(lift));
  Py_XSETREF(apply_function, Py_NewRef(apply));
  batched_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  batches_seen = true;
}

thread_local bool inplace_allowed = false;

// (1 or -1): one begins or ends; 0 asks how many run. Of all of them, and of those that differentiate.
int count_transforms(int by) { return running_transforms += by; }
int count_gradient_transforms(int by) { return gradient_transforms = uint8_t(gradient_transforms + by); }

int set_made_in(const Tensor& t, int level) {  // how many of them run: what it counted as before
  return std::exchange(t->made_in, uint8_t(level));
}

void allow_inplace(Truth on) { inplace_allowed = on; }

PyObject* require_grad(PyObject* tensor) {  // Tensor.requires_grad_ for the transforms' own use
  CHECK(Kind::Type, is_tensor(tensor), "require_grad expects a Tensor, not ", Py_TYPE(tensor)->tp_name);
  return make_require_grad(tensor) ? Py_NewRef(tensor) : nullptr;
}

const ModulePart batching_functions{
    {function<&set_batching>("set_batching"), function<&count_transforms>("_count_transforms"),
        function<&count_gradient_transforms>("_count_gradient_transforms"), function<&set_made_in>("_set_made_in"),
        function<&allow_inplace>("_set_inplace_requires_grad_allowed"),
        function<[] { return bool(inplace_allowed); }>("_inplace_requires_grad_allowed"),
        function<&require_grad>("_require_grad")}};

}  // namespace

bool refuse_under_transforms(const char* method) {
  const bool asks = std::string_view(method) == "requires_grad_()";
  if (!running_transforms || (asks && inplace_allowed)) return false;
  PyErr_Format(PyExc_RuntimeError,
      "You are attempting to call Tensor.%s %sinside of a function being transformed by a functorch transform. This is "
      "unsupported, please attempt to use the "
      "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call %s outside of a function being "
      "transformed instead.",
      method, asks ? "(or perhaps using torch.autograd.functional.* APIs) " : "", method);
  return true;
}

bool any_batched(PyObject* const* args, size_t n) { return any_tensor(Values(args, n).data(), n, is_batched); }

bool call_batched(Operator& op, Value* args, size_t n, Result& r) {
  if (!GradMode::enabled() || below_handler) return false;
  const auto has_tensors = [](const Value& v) { return any_tensor(&v, 1, [](TensorImpl&) { return true; }); };
  if (std::count_if(args, args + n, has_tensors) < 2 || !any_tensor(args, n, is_batched)) return false;
  if (!any_tensor(args, n, [](TensorImpl& t) { return t.requires_grad(); })) return false;
  const OwnedRef all = owned(tuple_of_lent(LentObjects(op, args, n).data(), n));
  const OwnedRef lifted = owned(PyObject_CallOneArg(lift_function, all));
  if (lifted == Py_None) return false;
  const Values values(&PyTuple_GET_ITEM(lifted.o, 0), n);
  call_below_modes(op, values.data(), n, r);
  r.own();
  return true;
}

PyObject* apply_batched(PyObject* cls, PyObject* const* args, size_t n) {
  const OwnedRef all{tuple_of_lent(args, n)};
  return all.o ? PyObject_CallFunctionObjArgs(apply_function, cls, all.o, nullptr) : nullptr;
}

}  // namespace shim
