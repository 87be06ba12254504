// _view_func of the tensor type: a view's steps taken from another base.
#include <algorithm>

#include "autograd/nodes.h"
#include "python/object.h"
#include "python/view_functions.h"

namespace shim {
namespace {

PyObject* replay(PyObject* self, PyObject* args, PyObject* kwargs, const char* name, bool checked) {
  static const char* names[] = {"new_base", "symint_visitor_fn", "tensor_visitor_fn", nullptr};
  PyObject *base = nullptr, *ints = Py_None, *tensors = Py_None;
  const std::string format = std::string("|OOO:") + name;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format.c_str(), const_cast<char**>(names), &base, &ints, &tensors)) return nullptr;
  if (!base) return PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"new_base\"", name);
  if (!is_tensor(base)) return PyErr_Format(PyExc_TypeError, "%s(): argument 'new_base' (position 1) must be Tensor, not %s", name, Py_TYPE(base)->tp_name);
  return guarded([&]() -> PyObject* { return wrap(replay_view(Tensor(unwrap(self)), Tensor(unwrap(base)), checked)); });
}

}  // namespace

PyObject* view_func(PyObject* self, PyObject* args, PyObject* kwargs) { return replay(self, args, kwargs, "_view_func", true); }
PyObject* view_func_unsafe(PyObject* self, PyObject* args, PyObject* kwargs) { return replay(self, args, kwargs, "_view_func_unsafe", false); }

// Only what is its own inverse can be turned round: a conjugate, a negative.
PyObject* rev_view_func_unsafe(PyObject* self, PyObject* view) {
  if (!is_tensor(view)) return PyErr_Format(PyExc_TypeError, "_rev_view_func_unsafe(): argument 'new_view' (position 1) must be Tensor, not %s", Py_TYPE(view)->tp_name);
  return guarded([&]() -> PyObject* {
    const TensorImpl& t = *unwrap(self);
    AutogradMeta* m = t.autograd();
    if (!m || !m->base) Py_RETURN_NONE;
    const TensorImpl& base = *m->base;
    const bool conj = t.is_conj != base.is_conj, neg = t.is_neg != base.is_neg;
    const bool same = t.dtype() == base.dtype() && std::ranges::equal(t.sizes(), base.sizes()) && std::ranges::equal(t.strides(), base.strides()) && t.storage_offset() == base.storage_offset();
    CHECK(Kind::Runtime, same && (conj || neg), "No _rev_view_func() found");
    Tensor r(unwrap(view));
    if (conj) r = engine_ops().view_operator(r, "_conj");
    return wrap(neg ? engine_ops().view_operator(r, "_neg_view") : r);
  });
}

}  // namespace shim
