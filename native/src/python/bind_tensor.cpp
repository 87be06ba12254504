// Attributes and methods of torch.Tensor that need no operator: geometry, dtype, device, storage, numbers.
#include "core/extent.h"
#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/tensor_type.h"
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
PyObject* one_or_all(Args args, Py_ssize_t n, PyObject* names, PyObject* all, IntArrayRef values, const char* method) {
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

PyObject* tuple_of(IntArrayRef d) {
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
    {"untyped_storage", untyped_storage_method, METH_NOARGS, nullptr}, KEYED("set_", tensor_set),
    KEYED("resize_", tensor_resize), {"__hash__", hash_method, METH_NOARGS, nullptr},
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_subclass)),
        METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_make_wrapper_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(wrapper_subclass)),
        METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_tensor(PyObject* module) {
  if (make_tensor_types(module) < 0) return -1;
  return add_to_tensor(methods, getset) < 0 ? -1 : bind_tensor_numbers();
}

}  // namespace shim
