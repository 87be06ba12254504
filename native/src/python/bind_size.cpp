// torch.Size: the sizes of a tensor, a tuple of int.
#include <string>

#include "python/builtin_types.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

PyTypeObject* SizeType;

PyObject* size_repr(PyObject* o) {
  std::string s = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    const OwnedRef text{PyObject_Repr(PyTuple_GET_ITEM(o, i))};
    if (!text.o) return nullptr;
    s += (i ? ", " : "") + std::string(PyUnicode_AsUTF8(text));
  }
  return PyUnicode_FromString((s + "])").c_str());
}

}  // namespace

PyObject* size_of_tuple(PyObject* tuple) {  // steals
  if (!tuple) return nullptr;
  if (!PyTuple_CheckExact(tuple)) return tuple;
  const OwnedRef held{tuple};
  PyObject* size = SizeType->tp_alloc(SizeType, PyTuple_GET_SIZE(tuple));
  for (Py_ssize_t i = 0; size && i < PyTuple_GET_SIZE(tuple); ++i)
    PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  return size;
}

namespace {

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  OwnedRef self{PyTuple_Type.tp_new(type, args, kwargs)};
  for (Py_ssize_t i = 0; self.o && i < PyTuple_GET_SIZE(self.o); ++i) {
    PyObject* item = PyTuple_GET_ITEM(self.o, i);
    int64_t value;
    if (PyLong_Check(item) && unpack_int(item, &value)) continue;
    if (PyErr_Occurred()) return nullptr;
    if (PyObject_HasAttrString(item, "is_nested_int")) continue;  // a size that varies: torch.SymInt
    PyObject* number = PyIndex_Check(item) ? PyNumber_Index(item) : nullptr;
    if (!number)
      return PyErr_Format(
          PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i, Py_TYPE(item)->tp_name);
    PyTuple_SET_ITEM(self.o, i, number);
    Py_DECREF(item);
  }
  return self.give();
}

PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b))
    return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to torch.Size",
        Py_TYPE(PyTuple_Check(a) ? b : a)->tp_name);
  return size_of_tuple(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(a, b);
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return size_of_tuple(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_subscript(PyObject* a, PyObject* key) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(a, key);
  return PySlice_Check(key) ? size_of_tuple(r) : r;
}
PyObject* size_numel(PyObject* o, PyObject*) {
  int64_t n = 1, d;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    if (!unpack_int(PyTuple_GET_ITEM(o, i), &d)) return nullptr;
    (void)__builtin_mul_overflow(n, d, &n);  // wraps around, as PyTorch's does
  }
  return PyLong_FromLongLong(n);
}
PyObject* size_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("O(N)", rebuild_named, PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o)));
}
PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, nullptr}, {"__reduce__", size_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot size_slots[] = {slot(Py_tp_repr, size_repr), slot(Py_tp_new, size_new), slot(Py_sq_concat, size_concat),
    slot(Py_nb_add, size_add), slot(Py_sq_repeat, size_repeat), slot(Py_mp_subscript, size_subscript),
    {Py_tp_methods, size_methods}, documentation_slot("The sizes of a tensor: a tuple of int."), {}};
PyType_Spec size_spec = {"torch.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

}  // namespace

PyObject* size_object(IntArrayRef d) {
  PyObject* size = SizeType->tp_alloc(SizeType, Py_ssize_t(d.size()));
  if (size)
    for (size_t i = 0; i < d.size(); ++i) PyTuple_SET_ITEM(size, Py_ssize_t(i), PyLong_FromLongLong(d[i]));
  return size;
}

int bind_size(PyObject* module) {
  SizeType = add_type(module, size_spec, "Size", &PyTuple_Type);
  return SizeType ? 0 : -1;
}

}  // namespace shim
