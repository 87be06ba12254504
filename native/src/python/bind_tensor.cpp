// Attributes and methods of torch.Tensor that need no operator: geometry, dtype, device, storage, numbers.
#include <algorithm>
#include <cstring>

#include "core/extent.h"
#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "ops/kernels.h"
#include "python/tensor_type.h"
#include "python/sparse_dispatch.h"
#include "python/torch_dispatch.h"
#include "python/uninitialized.h"
#include "python/wrapper.h"

namespace shim {

bool dims_of(PyObject* o, Dims* out) {
  out->clear();
  if (PyLong_Check(o)) { return unpack_int(o, &out->emplace_back()); }
  PyObject* fast = PySequence_Fast(o, "expected a sequence of int");
  if (!fast) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* index = PyNumber_Index(PySequence_Fast_GET_ITEM(fast, i));
    if (!index) {
      Py_DECREF(fast);
      return false;
    }
    int overflow = 0;
    out->push_back(PyLong_AsLongLongAndOverflow(index, &overflow));
    Py_DECREF(index);
    if (overflow) {
      Py_DECREF(fast);
      return PyErr_Format(PyExc_TypeError,
                 "failed to unpack the object at pos %zd with error \"Overflow when unpacking long long\"", i + 1),
             false;
    }
  }
  Py_DECREF(fast);
  return !PyErr_Occurred();
}

namespace {

PyObject* yes(bool v) { return PyBool_FromLong(v); }
PyObject* integer(int64_t v) { return PyLong_FromLongLong(v); }

// --- attributes -----------------------------------------------------------------------------------------------------------

#define GET(name, expression)                      \
  PyObject* name(PyObject* self, void*) {          \
    [[maybe_unused]] TensorImpl* t = unwrap(self); \
    return expression;                             \
  }

#define ASKED(t) __builtin_expect((t)->asks_handler, 0)
GET(get_shape, ASKED(t) ? asked_size(self) : size_object(t->sizes()))
GET(get_ndim, ASKED(t) ? asked_dim(self) : integer(t->dim()))
GET(get_dtype, dtype_object(t->dtype()))
GET(get_device, ASKED(t) ? asked_device(self) : device_object(t->device()))
PyObject* own_layout(const TensorImpl& t) { return layout_object(is_sparse(t) ? int(sparse_parts(t)->layout) : 0); }
GET(get_layout, ASKED(t) ? asked_object(self, kAskLayout, "prim::layout", own_layout(*t)) : own_layout(*t))
GET(get_is_sparse, yes(is_sparse(*t) && sparse_parts(*t)->layout == Layout::sparse_coo))
GET(get_is_sparse_csr, yes(is_sparse(*t) && sparse_parts(*t)->layout == Layout::sparse_csr))
GET(get_itemsize, integer(int64_t(t->itemsize())))
GET(get_nbytes, is_sparse(*t) ? PyErr_Format(PyExc_RuntimeError,
                                    "nbytes is not defined for sparse tensors.  If you want the size of the "
                                    "constituent tensors, add the nbytes of the "
                                    "indices and values.  If you want the size of the  equivalent dense tensor, "
                                    "multiply numel() by element_size()")
                              : integer(t->numel() * int64_t(t->itemsize())))
GET(get_version, t->is_inference ? PyErr_Format(PyExc_RuntimeError, "Inference tensors do not track version counter.")
                                 : integer(t->version()))
GET(get_is_cuda, yes(t->device().is_cuda()))
GET(get_is_cpu, yes(t->device().is_cpu()))
GET(get_is_meta, yes(t->device().is_meta()))
GET(get_false, yes(false))
GET(get_cdata, PyLong_FromVoidPtr(t))

PyGetSetDef getset[] = {{"shape", get_shape, nullptr, nullptr, nullptr}, {"ndim", get_ndim, nullptr, nullptr, nullptr},
    {"dtype", get_dtype, nullptr, nullptr, nullptr}, {"device", get_device, nullptr, nullptr, nullptr},
    {"layout", get_layout, nullptr, nullptr, nullptr}, {"itemsize", get_itemsize, nullptr, nullptr, nullptr},
    {"nbytes", get_nbytes, nullptr, nullptr, nullptr}, {"_version", get_version, nullptr, nullptr, nullptr},
    {"is_cuda", get_is_cuda, nullptr, nullptr, nullptr}, {"is_cpu", get_is_cpu, nullptr, nullptr, nullptr},
    {"is_meta", get_is_meta, nullptr, nullptr, nullptr}, {"is_sparse", get_is_sparse, nullptr, nullptr, nullptr},
    {"is_sparse_csr", get_is_sparse_csr, nullptr, nullptr, nullptr},
    {"is_quantized", get_false, nullptr, nullptr, nullptr}, {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
    {"is_mps", get_false, nullptr, nullptr, nullptr}, {"is_xpu", get_false, nullptr, nullptr, nullptr},
    {"is_hpu", get_false, nullptr, nullptr, nullptr}, {"is_xla", get_false, nullptr, nullptr, nullptr},
    {"is_ipu", get_false, nullptr, nullptr, nullptr}, {"is_nested", get_false, nullptr, nullptr, nullptr},
    {"is_vulkan", get_false, nullptr, nullptr, nullptr}, {"is_maia", get_false, nullptr, nullptr, nullptr},
    {"is_mtia", get_false, nullptr, nullptr, nullptr}, {"_cdata", get_cdata, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// --- methods --------------------------------------------------------------------------------------------------------------

using Args = PyObject* const*;

// size() and stride(): all of them without a dim, one with it.
PyObject* one_or_all(Args args, Py_ssize_t n, PyObject* names, PyObject* all, DimSpan values, const char* method) {
  const Py_ssize_t words = names ? PyTuple_GET_SIZE(names) : 0;
  PyObject* which = n + words >= 1 ? args[0] : Py_None;
  if (which == Py_None) return all;
  Py_DECREF(all);
  if (words && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dim") != 0)
    return PyErr_Format(
        PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", method, PyTuple_GET_ITEM(names, 0));
  if (n + words > 1)
    return PyErr_Format(
        PyExc_TypeError, "%s() takes from 0 to 1 positional arguments but %zd were given", method, n + words);
  Py_ssize_t i = PyBool_Check(which) ? -1 : PyNumber_AsSsize_t(which, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_IndexError))
    return PyErr_Format(PyExc_ValueError, "Overflow when unpacking long long");
  if (PyBool_Check(which) || (i == -1 && PyErr_Occurred())) {
    PyErr_Clear();
    return PyErr_Format(
        PyExc_TypeError, "%s(): argument 'dim' (position 1) must be int, not %s", method, Py_TYPE(which)->tp_name);
  }
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Index, !values.empty(), "Dimension specified as ", i, " but tensor has no dimensions");
    return integer(values[size_t(wrap_dim(i, int64_t(values.size())))]);
  });
}

PyObject* size_method(PyObject* self, Args args, Py_ssize_t n, PyObject* names) {
  TensorImpl* t = unwrap(self);
  if (ASKED(t)) {
    Dims sizes(t->sizes().begin(), t->sizes().end());
    return asked_dims(self, kAskSizes, "aten::sym_size", &sizes)
               ? one_or_all(args, n, names, size_object(sizes), sizes, "size")
               : nullptr;
  }
  return one_or_all(args, n, names, size_object(t->sizes()), t->sizes(), "size");
}

PyObject* tuple_of(DimSpan d) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(d.size()));
  for (size_t i = 0; tuple && i < d.size(); ++i) PyTuple_SET_ITEM(tuple, Py_ssize_t(i), integer(d[i]));
  return tuple;
}

bool is_compressed(const TensorImpl& t) { return is_sparse(t) && sparse_parts(t)->layout != Layout::sparse_coo; }

PyObject* stride_method(PyObject* self, Args args, Py_ssize_t n, PyObject* names) {
  TensorImpl* t = unwrap(self);
  if (is_compressed(*t)) return PyErr_Format(PyExc_RuntimeError, "Sparse CSR tensors do not have strides");
  if (ASKED(t)) {
    Dims strides(t->strides().begin(), t->strides().end());
    return asked_dims(self, kAskStrides, "aten::sym_stride", &strides)
               ? one_or_all(args, n, names, tuple_of(strides), strides, "stride")
               : nullptr;
  }
  return one_or_all(args, n, names, tuple_of(t->strides()), t->strides(), "stride");
}

#define METHOD0(name, expression)                  \
  PyObject* name(PyObject* self, PyObject*) {      \
    [[maybe_unused]] TensorImpl* t = unwrap(self); \
    return expression;                             \
  }

METHOD0(dim_method, get_ndim(self, nullptr))
METHOD0(numel_method, ASKED(t) ? asked_integer(self, kAskSizes, "aten::sym_numel", t->numel()) : integer(t->numel()))
PyObject* data_pointer(const TensorImpl& t) {
  if (is_sparse(t))
    return PyErr_Format(PyExc_RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage");
  return guarded([&] {
    own_data(*t.storage());  // whoever asks may write
    return PyLong_FromVoidPtr(t.numel() ? t.address() : nullptr);
  });
}
PyObject* data_ptr_method(PyObject* self, PyObject*) {
  if (ASKED(unwrap(self))) {  // whether there is anything to point to
    PyObject* count = asked_integer(self, kAskSizes, "aten::numel", unwrap(self)->numel());
    if (!count) return nullptr;
    Py_DECREF(count);
  }
  return data_pointer(*unwrap(self));
}
METHOD0(storage_offset_method, integer(t->storage_offset()))
METHOD0(element_size_method, integer(int64_t(t->itemsize())))
METHOD0(get_device_method, integer(t->device().is_cpu() ? -1 : t->device().index))
METHOD0(is_floating_method, yes(is_floating(t->dtype())))
METHOD0(is_complex_method, yes(is_complex(t->dtype())))
METHOD0(is_signed_method, yes(is_signed(t->dtype())))
METHOD0(is_inference_method, yes(t->is_inference))
METHOD0(is_conj_method, yes(t->is_conj))
METHOD0(is_neg_method, yes(t->is_neg))

PyObject* no_storage(const TensorImpl& t) {
  return PyErr_Format(PyExc_NotImplementedError, "Cannot access storage of %s",
      sparse_parts(t)->layout == Layout::sparse_coo ? "SparseTensorImpl" : "SparseCsrTensorImpl");
}
METHOD0(is_shared_method, is_sparse(*t) ? no_storage(*t) : yes(t->device().is_cuda()))
METHOD0(untyped_storage_method, is_sparse(*t) ? no_storage(*t) : storage_object(t->storage()))
METHOD0(hash_method, PyLong_FromVoidPtr(self))
METHOD0(is_pinned_method, yes(t->storage()->pinned))

PyObject* is_contiguous_method(PyObject* self, Args args, Py_ssize_t n, PyObject* names) {
  TensorImpl* t = unwrap(self);
  if (is_compressed(*t)) return PyErr_Format(PyExc_RuntimeError, "Sparse CSR tensors do not have is_contiguous");
  const bool plain = n + (names ? PyTuple_GET_SIZE(names) : 0) == 0;
  if (ASKED(t)) return asked_contiguous(self, plain ? nullptr : args[0]);
  if (plain) return yes(t->is_contiguous());
  return guarded([&]() -> PyObject* {
    MemoryFormat f;
    CHECK(Kind::Type, memory_format_of(args[0], &f),
        "is_contiguous(): argument 'memory_format' must be torch.memory_format, not ", Py_TYPE(args[0])->tp_name);
    return yes(t->is_contiguous(f));
  });
}

// A TypedStorage holds elements of one dtype.
void check_storage_dtype(PyObject* source, DType wanted) {
  PyObject* dtype = PyObject_GetAttrString(source, "dtype");
  if (!dtype) {
    PyErr_Clear();
    return;
  }
  const bool other = is_dtype(dtype) && dtype_of(dtype) != wanted;
  const DType found = other ? dtype_of(dtype) : wanted;
  Py_DECREF(dtype);
  CHECK(Kind::Runtime, !other, "Expected a Storage of type ", scalar_name(wanted),
      " or an UntypedStorage, but got type ", scalar_name(found), " for argument 1 'storage'");
}

PyObject* set_method(PyObject* self, PyObject* args, PyObject* kwargs) {
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
    // All that can be wrong is found before anything is changed.
    CHECK(Kind::Runtime, sizes.size() == strides.size(), "unequal size length (", sizes.size(), ") and stride length (",
        strides.size(), ")");
    const int64_t numel = product(sizes);
    for (int64_t s : strides)
      CHECK(Kind::Runtime, s >= 0 || numel == 0, "Storage size calculation overflowed with sizes=", bracketed(sizes),
          " and strides=", bracketed(strides));
    const size_t need = extent_bytes(sizes, strides, offset, t->itemsize());
    const bool same = offset == t->storage_offset() && std::ranges::equal(sizes, t->sizes()) &&
                      std::ranges::equal(strides, t->strides());
    if (same)
      check_within(
          *storage, sizes, strides, offset, t->itemsize());  // PyTorch grows the storage for another geometry only
    if (need > storage->nbytes()) storage->resize(need);
    // The tensor goes on counting its own writes: those of the new storage's other tensors are not its.
    t->keep_version();
    t->set_storage(storage);
    t->set_geometry(sizes, strides, offset);
    t->bump_version();
    if (AutogradMeta* m = t->autograd()) m->accumulator = nullptr;  // gradients of what it was don't fit it any more
    Py_INCREF(self);
    return self;
  });
}

PyObject* resize_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* layout = kwargs ? PyDict_GetItemString(kwargs, "memory_format") : nullptr;
  MemoryFormat format = MemoryFormat::contiguous;
  if (layout && layout != Py_None && !memory_format_of(layout, &format))
    return PyErr_Format(PyExc_TypeError, "resize_(): argument 'memory_format' must be torch.memory_format, not %s",
        Py_TYPE(layout)->tp_name);
  PyObject* size =
      PyTuple_GET_SIZE(args) == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0)) ? PyTuple_GET_ITEM(args, 0) : args;
  Dims sizes;
  if (!dims_of(size, &sizes)) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    if (is_sparse(*t)) return PyObject_CallMethod(self, "_resize_sparse_", "O", size);
    CHECK(Kind::Runtime, !t->requires_grad() || InferenceMode::enabled(), "cannot resize variables that require grad");
    CHECK(Kind::Runtime, format != MemoryFormat::preserve, "Unsupported memory formatPreserve");
    const bool same = std::equal(sizes.begin(), sizes.end(), t->sizes().begin(), t->sizes().end());
    if (same && (!layout || layout == Py_None)) return Py_NewRef(self);  // the strides stay as they are
    for (int64_t n : sizes) CHECK(Kind::Runtime, n >= 0, "Trying to create tensor with negative dimension ", n);
    Dims strides = format == MemoryFormat::contiguous ? contiguous_strides(sizes) : channels_last_strides(sizes);
    const size_t need = extent_bytes(sizes, strides, t->storage_offset(), t->itemsize());
    const size_t had = t->storage()->nbytes();
    if (need > had) t->storage()->resize(need);
    if (!same) t->bump_version();
    t->set_geometry(sizes, strides, t->storage_offset());
    if (fill_uninitialized && need > had) {
      PyObject* done = PyObject_CallMethod(self, "_fill_grown", "n", Py_ssize_t(had));
      if (!done) return nullptr;
      Py_DECREF(done);
    }
    Py_INCREF(self);
    return self;
  });
}

// --- elements -------------------------------------------------------------------------------------------------------------

Tensor on_cpu(TensorImpl* t) {
  if (t->device().is_cpu()) return resolved(Tensor(t));
  CHECK(Kind::Runtime, !t->device().is_meta(), "Tensor.item() cannot be called on meta tensors");
  Tensor host = empty(t->sizes(), t->dtype(), Device{});
  copy_(host, Tensor(t));
  return host;
}

// A sparse number is the sum of its values.
PyObject* sparse_item(PyObject* self) {
  PyObject* dense = PyObject_CallMethod(self, "to_dense", nullptr);
  PyObject* value = dense ? PyObject_CallMethod(dense, "item", nullptr) : nullptr;
  Py_XDECREF(dense);
  return value;
}

PyObject* item_method(PyObject* self, PyObject*) {
  if (__builtin_expect(python_dispatch, 0) && wants_dispatch(&self, 1)) {
    static Operator* op = find_operator("aten::_local_scalar_dense", "");
    if (op) return call_torch_dispatch(*op, &self, 1);
  }
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    CHECK(Kind::Runtime, t->numel() == 1, "a Tensor with ", t->numel(), " elements cannot be converted to Scalar");
    if (is_sparse(*t)) return sparse_item(self);
    CHECK(Kind::Runtime, has_data(*t), "Cannot access data pointer of Tensor that doesn't have storage");
    return number_object(on_cpu(t)->data(), t->dtype());
  });
}

PyObject* list_of(TensorImpl* t, const char* p, int dim) {
  if (dim == t->dim()) return number_object(p, t->dtype());
  int64_t n = t->sizes_data()[dim], step = t->strides_data()[dim] * int64_t(t->itemsize());
  PyObject* list = PyList_New(n);
  for (int64_t i = 0; list && i < n; ++i) {
    PyObject* item = list_of(t, p + i * step, dim + 1);
    if (!item) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, i, item);
  }
  return list;
}

PyObject* tolist_method(PyObject* self, PyObject*) {
  if (unwrap(self)->device().is_meta())
    return PyErr_Format(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Runtime, !is_sparse(*unwrap(self)), "Cannot access data pointer of Tensor that doesn't have storage");
    CHECK(Kind::Runtime, has_data(*unwrap(self)) || !class_has_handler(Py_TYPE(self)),
        ".tolist() is not supported for tensor subclasses, got ", Py_TYPE(self)->tp_name);
    CHECK(Kind::Runtime, has_data(*unwrap(self)), "Cannot access data pointer of Tensor that doesn't have storage");
    const TensorImpl& t = *unwrap(self);
    CHECK(Kind::Runtime, !t.numel() || t.storage()->nbytes(),
        "tolist() shouldn't be called on a tensor with unallocated storage");
    Tensor host = on_cpu(unwrap(self));
    const Lent lent(host->storage());  // making lists may run a collection, which runs anybody's code
    return list_of(host.get(), host->data_as<const char>(), 0);
  });
}

int truth(PyObject* self) {
  PyObject* value = nullptr;
  TensorImpl* t = unwrap(self);
  if (t->numel() == 1)
    value = item_method(self, nullptr);
  else if (t->numel() == 0)
    PyErr_SetString(PyExc_RuntimeError, "Boolean value of Tensor with no values is ambiguous");
  else
    PyErr_SetString(PyExc_RuntimeError, "Boolean value of Tensor with more than one value is ambiguous");
  if (!value) return -1;
  int r = PyObject_IsTrue(value);
  Py_DECREF(value);
  return r;
}
PyObject* bool_method(PyObject* self, PyObject*) {
  int r = truth(self);
  return r < 0 ? nullptr : yes(r);
}

PyObject* converted(PyObject* self, PyObject* (*to)(PyObject*), const char* real_type = nullptr) {
  if (unwrap(self)->numel() != 1)
    return PyErr_Format(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
  PyObject* value = item_method(self, nullptr);
  if (!value) return nullptr;
  if (real_type && PyComplex_Check(value)) {
    if (PyComplex_ImagAsDouble(value) != 0)
      PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", real_type);
    Py_SETREF(value, PyErr_Occurred() ? nullptr : PyFloat_FromDouble(PyComplex_RealAsDouble(value)));
    if (!value) return nullptr;
  }
  PyObject* r = to(value);
  Py_DECREF(value);
  return r;
}
PyObject* int_method(PyObject* self, PyObject*) { return converted(self, PyNumber_Long, "int64_t"); }
PyObject* float_method(PyObject* self, PyObject*) { return converted(self, PyNumber_Float, "double"); }
PyObject* complex_method(PyObject* self, PyObject*) {
  return converted(
      self, [](PyObject* v) { return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), v); });
}
PyObject* index_method(PyObject* self, PyObject*) {
  TensorImpl* t = unwrap(self);
  if (!is_integral(t->dtype(), true) || t->numel() != 1)
    return PyErr_Format(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
  return converted(self, PyNumber_Index);
}
PyObject* len_method(PyObject* self, PyObject*) {
  TensorImpl* t = unwrap(self);
  if (t->dim() == 0) return PyErr_Format(PyExc_TypeError, "len() of a 0-d tensor");
  return integer(t->sizes_data()[0]);
}

PyMethodDef methods[] = {
#define FAST(name, f) \
  {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL | METH_KEYWORDS, nullptr}
#define KEYED(name, f) \
  {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_VARARGS | METH_KEYWORDS, nullptr}
    FAST("size", size_method), FAST("stride", stride_method), FAST("is_contiguous", is_contiguous_method),
    {"dim", dim_method, METH_NOARGS, nullptr}, {"ndimension", dim_method, METH_NOARGS, nullptr},
    {"numel", numel_method, METH_NOARGS, nullptr}, {"nelement", numel_method, METH_NOARGS, nullptr},
    {"data_ptr", data_ptr_method, METH_NOARGS, nullptr},
    {"storage_offset", storage_offset_method, METH_NOARGS, nullptr},
    {"element_size", element_size_method, METH_NOARGS, nullptr},
    {"get_device", get_device_method, METH_NOARGS, nullptr},
    {"is_floating_point", is_floating_method, METH_NOARGS, nullptr},
    {"is_complex", is_complex_method, METH_NOARGS, nullptr}, {"is_signed", is_signed_method, METH_NOARGS, nullptr},
    {"is_inference", is_inference_method, METH_NOARGS, nullptr}, {"is_conj", is_conj_method, METH_NOARGS, nullptr},
    {"is_neg", is_neg_method, METH_NOARGS, nullptr}, {"is_shared", is_shared_method, METH_NOARGS, nullptr},
    {"is_pinned", is_pinned_method, METH_VARARGS, nullptr},
    {"untyped_storage", untyped_storage_method, METH_NOARGS, nullptr}, KEYED("set_", set_method),
    KEYED("resize_", resize_method), {"item", item_method, METH_NOARGS, nullptr},
    {"tolist", tolist_method, METH_NOARGS, nullptr}, {"__bool__", bool_method, METH_NOARGS, nullptr},
    {"__int__", int_method, METH_NOARGS, nullptr}, {"__float__", float_method, METH_NOARGS, nullptr},
    {"__complex__", complex_method, METH_NOARGS, nullptr}, {"__index__", index_method, METH_NOARGS, nullptr},
    {"__len__", len_method, METH_NOARGS, nullptr}, {"__hash__", hash_method, METH_NOARGS, nullptr},
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_subclass)),
        METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_make_wrapper_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(wrapper_subclass)),
        METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_tensor(PyObject* module) {
  if (make_tensor_types(module) < 0) return -1;
  return add_to_tensor(methods, getset);
}

}  // namespace shim
