// Tensor.set_ and resize_: another storage or other sizes for a tensor that is there.
#include "autograd/attributes.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/tensor_type.h"
#include "python/owned_ref.h"
#include "core/uninitialized.h"

namespace shim {

namespace {

// A TypedStorage holds elements of one dtype.
void check_storage_dtype(PyObject* source, DType wanted) {
  const OwnedRef dtype{PyObject_GetAttrString(source, "dtype")};
  if (!dtype.o) return PyErr_Clear();
  CHECK(Kind::Runtime, !is_dtype(dtype) || dtype_of(dtype) == wanted, "Expected a Storage of type ",
      scalar_name(wanted), " or an UntypedStorage, but got type ", scalar_name(dtype_of(dtype)),
      " for argument 1 'storage'");
}

}  // namespace

PyObject* tensor_set(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"source", "storage_offset", "size", "stride", nullptr};
  PyObject *source = nullptr, *from = nullptr, *size = nullptr, *stride = nullptr;
  int64_t offset = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "|OOOO:set_", const_cast<char**>(names), &source, &from, &size, &stride))
    return nullptr;
  if (from && !unpack_int(from, &offset)) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    CHECK(Kind::Runtime, !is_sparse(*t) && !(source && is_tensor(source) && is_sparse(*unwrap(source))),
        "set_: sparse tensors have no storage to set");
    Ref<Storage> storage;
    Dims sizes, strides;
    if (source && is_tensor(source)) {
      TensorImpl* s = unwrap(source);
      CHECK(Kind::Runtime, s->dtype() == t->dtype(), "Could not set tensor of type ", dtype_name(s->dtype()),
          " to a tensor of type ", dtype_name(t->dtype()));
      sizes.assign(s->sizes().begin(), s->sizes().end());
      strides.assign(s->strides().begin(), s->strides().end());
      offset = size ? offset : s->storage_offset();
      storage = s->storage();
    } else if (source) {
      storage = storage_of(source);
      CHECK(Kind::Type, storage, "set_(): argument 'source' must be Tensor or Storage, not ", Py_TYPE(source)->tp_name);
      check_storage_dtype(source, t->dtype());
      sizes = {int64_t(storage->nbytes() / t->itemsize())};
      strides = {1};
    } else {
      storage = allocate(0, t->device());
      sizes = {0};
      strides = {1};
    }
    if (size) {
      if (!dims_of(size, &sizes)) return nullptr;
      strides = contiguous_strides(sizes);
    }
    if (stride && !dims_of(stride, &strides)) return nullptr;
    set_memory(*t, storage, sizes, strides, offset);
    return Py_NewRef(self);
  });
}

namespace {

// The new sizes of resize_(size) or resize_(2, 3), as they were given; null with an error set.
PyObject* given_sizes(PyObject* args, PyObject* kwargs) {
  PyObject* named = kwargs ? PyDict_GetItemString(kwargs, "size") : nullptr;
  PyObject* key;
  Py_ssize_t at = 0;
  while (kwargs && PyDict_Next(kwargs, &at, &key, nullptr))
    if (PyUnicode_CompareWithASCIIString(key, "size") != 0 &&
        PyUnicode_CompareWithASCIIString(key, "memory_format") != 0)
      return PyErr_Format(PyExc_TypeError, "resize_() got an unexpected keyword argument '%U'", key);
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (named && count) return PyErr_Format(PyExc_TypeError, "resize_() got multiple values for argument 'size'");
  if (!named && !count)
    return PyErr_Format(PyExc_TypeError, "resize_() missing 1 required positional arguments: \"size\"");
  PyObject* size = named                                                     ? named
                   : count == 1 && !PyIndex_Check(PyTuple_GET_ITEM(args, 0)) ? PyTuple_GET_ITEM(args, 0)
                                                                             : args;
  if (PyTuple_Check(size) || PyList_Check(size) || PyLong_Check(size)) return size;
  return PyErr_Format(
      PyExc_TypeError, "resize_(): argument 'size' (position 1) must be tuple of ints, not %s", Py_TYPE(size)->tp_name);
}

}  // namespace

PyObject* tensor_resize(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* size = given_sizes(args, kwargs);
  if (!size) return nullptr;
  PyObject* layout = kwargs ? PyDict_GetItemString(kwargs, "memory_format") : nullptr;
  MemoryFormat format = MemoryFormat::contiguous;
  if (layout && layout != Py_None && !memory_format_of(layout, &format))
    return PyErr_Format(PyExc_TypeError, "resize_(): argument 'memory_format' must be torch.memory_format, not %s",
        Py_TYPE(layout)->tp_name);
  Dims sizes;
  if (!dims_of(size, &sizes)) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    if (is_sparse(*t)) return PyObject_CallMethod(self, "_resize_sparse_", "O", size);
    const auto wanted = layout && layout != Py_None ? std::optional(format) : std::nullopt;
    const size_t had = t->storage()->nbytes();
    resize_memory(*t, sizes, wanted);
    if (fill_uninitialized && t->storage()->nbytes() > had)
      owned(PyObject_CallMethod(self, "_fill_grown", "n", Py_ssize_t(had)));
    return Py_NewRef(self);
  });
}

}  // namespace shim
