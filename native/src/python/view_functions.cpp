// _view_func of the tensor type: a view's steps taken from another base.
#include <algorithm>
#include <utility>

#include "autograd/nodes.h"
#include "python/object.h"
#include "python/view_functions.h"

namespace shim {
namespace {

thread_local bool replaying = false;

PyObject* replay(PyObject* self, PyObject* args, PyObject* kwargs, const char* name, bool checked) {
  static const char* names[] = {"new_base", "symint_visitor_fn", "tensor_visitor_fn", nullptr};
  PyObject *base = nullptr, *ints = Py_None, *tensors = Py_None;
  const std::string format = std::string("|OOO:") + name;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format.c_str(), const_cast<char**>(names), &base, &ints, &tensors))
    return nullptr;
  if (!base) return PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"new_base\"", name);
  if (!is_tensor(base))
    return PyErr_Format(
        PyExc_TypeError, "%s(): argument 'new_base' (position 1) must be Tensor, not %s", name, Py_TYPE(base)->tp_name);
  return guarded([&]() -> PyObject* { return wrap(replay_view(Tensor(unwrap(self)), Tensor(unwrap(base)), checked)); });
}

}  // namespace

PyObject* view_func(PyObject* self, PyObject* args, PyObject* kwargs) {
  return replay(self, args, kwargs, "_view_func", true);
}
PyObject* view_func_unsafe(PyObject* self, PyObject* args, PyObject* kwargs) {
  return replay(self, args, kwargs, "_view_func_unsafe", false);
}

PyObject* set_view_replay(PyObject*, PyObject* on) {
  bool given;
  if (!unpack_flag(on, "set_view_replay_enabled(): argument 'enabled' (position 1)", &given)) return nullptr;
  return PyBool_FromLong(std::exchange(replaying, given));
}

PyObject* is_view_replay(PyObject*, PyObject*) { return PyBool_FromLong(replaying); }

// The base, seen from memory that a view like this one lies in: as PyTorch's inverses that are views do, it takes the base's
// sizes, strides and offset. A view of other bits (view(dtype)) has none, and a view that as_strided alone can make again has
// one only while views are replayed.
PyObject* rev_view_func_unsafe(PyObject* self, PyObject* view) {
  if (!is_tensor(view))
    return PyErr_Format(PyExc_TypeError,
        "_rev_view_func_unsafe(): argument 'new_view' (position 1) must be Tensor, not %s", Py_TYPE(view)->tp_name);
  return guarded([&]() -> PyObject* {
    const TensorImpl& t = *unwrap(self);
    AutogradMeta* m = t.autograd();
    if (!m || !m->base) Py_RETURN_NONE;
    const EngineOps& ops = engine_ops();
    const TensorImpl& base = *m->base;
    const bool parts = is_complex(base.dtype()) && !is_complex(t.dtype()),
               pairs = !is_complex(base.dtype()) && is_complex(t.dtype());
    const bool plain = !parts && !pairs && t.is_conj == base.is_conj && t.is_neg == base.is_neg;
    CHECK(Kind::Runtime, parts || pairs || (t.dtype() == base.dtype() && (replaying || !plain)),
        "No _rev_view_func() found");
    Dims sizes(base.sizes().begin(), base.sizes().end()), strides(base.strides().begin(), base.strides().end());
    Tensor r(unwrap(view));
    if (t.is_neg != base.is_neg) r = ops.view_operator(r, "_neg_view");
    if (parts) {  // from the numbers of view_as_real
      for (int64_t& s : strides) s *= 2;
      sizes.push_back(2), strides.push_back(1);
      r = ops.view_operator(ops.as_strided(r, sizes, strides, base.storage_offset() * 2), "view_as_complex");
      return wrap(base.is_conj ? ops.view_operator(r, "_conj") : r);
    }
    if (t.is_conj != base.is_conj) r = ops.view_operator(r, "_conj");
    if (pairs) r = ops.view_operator(r, "view_as_real");
    const bool same = std::ranges::equal(r->sizes(), sizes) && std::ranges::equal(r->strides(), strides) &&
                      r->storage_offset() == base.storage_offset();
    return wrap(same && r.get() != unwrap(view) ? r : ops.as_strided(r, sizes, strides, base.storage_offset()));
  });
}

}  // namespace shim
