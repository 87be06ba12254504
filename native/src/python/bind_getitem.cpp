// tensor[...] for the usual keys: ints, slices, None, Ellipsis, one index tensor or mask. Everything else, and every error, is
// left to the Python functions of shim_torch._impl.tensor.indexing.
#include "core/few.h"
#include "core/sparse.h"
#include "dispatch/indexing.h"
#include "kernels/tensor_parameter.h"
#include "python/dispatch.h"
#include "python/module_function.h"
#include "python/override.h"
#include "python/values.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

PyObject *getitem_fallback = nullptr, *setitem_fallback = nullptr;
PyObject *getitem_descriptor = nullptr, *setitem_descriptor = nullptr;

bool plain(PyObject* self) {  // no __torch_function__ to ask
  PyTypeObject* type = Py_TYPE(self);
  return (type == TensorType || reinterpret_cast<PyObject*>(type) == ParameterType) && !torch_function_mode_active();
}

// None or an int, as far as 64 bits go; false for anything else (an object with __index__ is the fallback's).
bool bound_of(PyObject* o, int64_t* out) {
  if (o == Py_None) return true;
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) *out = overflow > 0 ? INT64_MAX : INT64_MIN;
  return true;
}

bool item_of(PyObject* o, IndexItem* item) {
  if (PyLong_CheckExact(o)) {
    item->kind = IndexItem::integer;
    return bound_of(o, &item->start);
  }
  item->kind = o == Py_None ? IndexItem::new_axis : o == Py_Ellipsis ? IndexItem::ellipsis : IndexItem::slice;
  if (item->kind != IndexItem::slice) return true;
  auto* s = reinterpret_cast<PySliceObject*>(o);
  return PySlice_Check(o) && bound_of(s->start, &item->start) && bound_of(s->stop, &item->end) &&
         bound_of(s->step, &item->step);
}

// The view a basic key names; null: not for here.
Tensor basic(PyObject* self, PyObject* key) {
  const bool many = PyTuple_CheckExact(key);
  const Py_ssize_t n = many ? PyTuple_GET_SIZE(key) : 1;
  Few<IndexItem, 8> items;
  for (Py_ssize_t i = 0; i < n; ++i) {
    IndexItem item{};
    if (!item_of(many ? PyTuple_GET_ITEM(key, i) : key, &item)) return {};
    items.push_back(item);
  }
  return index_view(BorrowedTensor(unwrap(self)), items);
}

// The fallback, but first the __torch_function__ of what is in the key or assigned; the tensor's own was asked before.
PyObject* asked(PyObject* descriptor, PyObject* fallback, PyObject* const* args, size_t n) {
  if (descriptor && torch_function_enabled()) {
    PyObject* r = call_torch_function(descriptor, CallArgs{args, n, nullptr}, nullptr);
    if (r || PyErr_Occurred()) return r;
  }
  return PyObject_Vectorcall(fallback, args, n, nullptr);
}

PyObject* getitem(PyObject* self, PyObject* key) {
  if (getitem_fallback && plain(self)) {
    PyObject* r = guarded([&]() -> PyObject* {
      Tensor t =
          is_tensor_exact(key) ? index_by(BorrowedTensor(unwrap(self)), BorrowedTensor(unwrap(key))) : basic(self, key);
      return t ? wrap(std::move(t)) : nullptr;
    });
    if (r || PyErr_Occurred()) return r;
  }
  PyObject* both[2] = {self, key};
  return asked(getitem_descriptor, getitem_fallback, both, 2);
}

PyObject* setitem(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "__setitem__ expects a key and a value");
  PyObject *key = args[0], *value = args[1];
  if (__builtin_expect(python_dispatch, 0) && is_tensor(self) && is_sparse(*unwrap(self)))
    return PyErr_Format(PyExc_TypeError, "Cannot assign to a sparse tensor");
  int64_t whole;
  if (PyLong_CheckExact(value) && !unpack_int(value, &whole)) return nullptr;
  const bool number = PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value);
  if (plain(self) && (number || is_tensor_exact(value)) && !is_tensor(key)) {
    const bool done = guarded([&] {
      const Tensor view = basic(self, key);
      return view && assign(view, Values().of(value));
    });
    if (done) Py_RETURN_NONE;
    if (PyErr_Occurred()) return nullptr;
  }
  PyObject* all[3] = {self, key, value};
  return asked(setitem_descriptor, setitem_fallback, all, 3);
}

PyMethodDef getitem_method = {"__getitem__", getitem, METH_O, nullptr};
PyMethodDef setitem_method = raw_function("__setitem__", setitem);

// indexing_methods(getitem, setitem): what to set as Tensor.__getitem__ and Tensor.__setitem__; the functions are the fallbacks.
PyObject* indexing_methods(PyObject* get, PyObject* set) {
  Py_XSETREF(getitem_fallback, Py_NewRef(get));
  Py_XSETREF(setitem_fallback, Py_NewRef(set));
  Py_XSETREF(getitem_descriptor, overridable_method(&getitem_method));
  Py_XSETREF(setitem_descriptor, overridable_method(&setitem_method));
  return getitem_descriptor && setitem_descriptor ? Py_BuildValue("OO", getitem_descriptor, setitem_descriptor)
                                                  : nullptr;
}

const ModulePart getitem_functions{{function<&indexing_methods>("indexing_methods")}};

}  // namespace

}  // namespace shim
