// Gradients as tuples, and the handles that take hooks off again.
#include "autograd/function_hook.h"
#include "python/autograd_python.h"
#include "python/held_type.h"

namespace shim {

template <> struct module_call::Argument<HookHandle&> : HeldArgument<HookHandle> {};

PyObject* tuple_of_grads(const Grads& grads) {
  return tuple_by(grads.size(), [&](size_t i) { return wrap(grads[i]); });
}

bool grads_from(PyObject* sequence, Grads* out) {
  if (is_tensor(sequence)) {
    out->assign(1, Tensor(unwrap(sequence)));
    return true;
  }
  const OwnedRef fast{PySequence_Fast(sequence, "expected a sequence of tensors")};
  if (!fast.o) return false;
  out->clear();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.o); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(fast.o, i);
    if (o != Py_None && !is_tensor(o))
      return PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s", Py_TYPE(o)->tp_name);
    out->push_back(o == Py_None ? Tensor() : Tensor(unwrap(o)));
  }
  return true;
}

namespace {

bool leave(Rest given) {  // (the handle, the exception, ...), which goes on
  (*held_in<HookHandle>(given.args[0]))->remove();
  return false;
}

const HeldType<HookHandle> handle_type{"RemovableHandle",
    {object_method<[](HookHandle& h) { h.remove(); }>("remove"),
        object_method<[](PyObject* self) { return Py_NewRef(self); }>("__enter__"), object_method<&leave>("__exit__")},
    {object_attribute<[](HookHandle& h) { return h.id; }>("id")}};
const ModulePart handle_part{{}, [](PyObject*) {
                               auto* const type = reinterpret_cast<PyObject*>(type_holding<HookHandle>);
                               const OwnedRef module{PyUnicode_FromString("torch.utils.hooks")};
                               return module.o ? PyObject_SetAttrString(type, "__module__", module) : -1;
                             }};

}  // namespace

}  // namespace shim
