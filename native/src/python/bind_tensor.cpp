// Attributes and methods of torch.Tensor that need no operator: geometry, dtype, device, storage, numbers.
#include "core/extent.h"
#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/attribute.h"
#include "python/schema_function.h"
#include "python/wrapper.h"

namespace shim {

bool dims_of(PyObject* o, Dims* out) {
  out->clear();
  if (PyLong_Check(o)) { return unpack_int(o, &out->emplace_back()); }
  const OwnedRef all{PySequence_Fast(o, "expected a sequence of int")};
  for (Py_ssize_t i = 0; all.o && i < PySequence_Fast_GET_SIZE(all.o); ++i) {
    const OwnedRef index{PyNumber_Index(PySequence_Fast_GET_ITEM(all.o, i))};
    int overflow = 0;
    if (!index.o) return false;
    out->push_back(PyLong_AsLongLongAndOverflow(index, &overflow));
    if (overflow)
      return PyErr_Format(PyExc_TypeError,
                 "failed to unpack the object at pos %zd with error \"Overflow when unpacking long long\"", i + 1),
             false;
  }
  return all.o && !PyErr_Occurred();
}

namespace {

PyObject* integer(int64_t v) { return PyLong_FromLongLong(v); }

// --- attributes -----------------------------------------------------------------------------------------------------------

using T = TensorImpl&;

bool asks(const TensorImpl& t) { return __builtin_expect(t.asks_handler, 0); }
PyObject* object_of(T t) { return static_cast<PyObject*>(t.pyobj); }

PyObject* layout_of_tensor(T t) {
  PyObject* own = layout_object(is_sparse(t) ? int(sparse_parts(t)->layout) : 0);
  return asks(t) ? asked_object(object_of(t), kAskLayout, "prim::layout", own) : own;
}
bool has_layout(T t, Layout layout) { return is_sparse(t) && sparse_parts(t)->layout == layout; }
PyObject* dims_of_tensor(T t) { return asks(t) ? asked_dim(object_of(t)) : integer(t.dim()); }

int64_t bytes_of(T t) {
  CHECK(Kind::Runtime, !is_sparse(t),
      "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of "
      "the "
      "indices and values.  If you want the size of the  equivalent dense tensor, multiply numel() by element_size()");
  return t.numel() * int64_t(t.itemsize());
}
int64_t version_of(T t) {
  CHECK(Kind::Runtime, !t.is_inference, "Inference tensors do not track version counter.");
  return t.version();
}
bool never(T) { return false; }  // devices and layouts that are not here

const TensorPart tensor_attributes{{},
    {attribute<[](T t) { return asks(t) ? asked_size(object_of(t)) : size_object(t.sizes()); }>("shape"),
        attribute<dims_of_tensor>("ndim"), attribute<[](T t) { return t.dtype(); }>("dtype"),
        attribute<[](T t) { return asks(t) ? asked_device(object_of(t)) : device_object(t.device()); }>("device"),
        attribute<layout_of_tensor>("layout"), attribute<[](T t) { return int64_t(t.itemsize()); }>("itemsize"),
        attribute<bytes_of>("nbytes"), attribute<version_of>("_version"),
        attribute<[](T t) { return t.device().is_cuda(); }>("is_cuda"),
        attribute<[](T t) { return t.device().is_cpu(); }>("is_cpu"),
        attribute<[](T t) { return t.device().is_meta(); }>("is_meta"),
        attribute<[](T t) { return has_layout(t, Layout::sparse_coo); }>("is_sparse"),
        attribute<[](T t) { return has_layout(t, Layout::sparse_csr); }>("is_sparse_csr"),
        attribute<never>("is_quantized"), attribute<never>("is_mkldnn"), attribute<never>("is_mps"),
        attribute<never>("is_xpu"), attribute<never>("is_hpu"), attribute<never>("is_xla"), attribute<never>("is_ipu"),
        attribute<never>("is_nested"), attribute<never>("is_vulkan"), attribute<never>("is_maia"),
        attribute<never>("is_mtia"), attribute<[](T t) { return PyLong_FromVoidPtr(&t); }>("_cdata")}};

// --- methods --------------------------------------------------------------------------------------------------------------

PyObject* tuple_of(IntArrayRef d) {
  return tuple_by(d.size(), [&](size_t i) { return integer(d[i]); });
}

// size() and stride(): all of them without a dim, one with it.
template <PyObject* (*all)(IntArrayRef)> PyObject* one_or_all(IntArrayRef values, std::optional<int64_t> dim) {
  if (!dim) return all(values);
  CHECK(Kind::Index, !values.empty(), "Dimension specified as ", *dim, " but tensor has no dimensions");
  return integer(values[size_t(wrap_dim(*dim, int64_t(values.size())))]);
}

PyObject* sizes_of(T t, std::optional<int64_t> dim) {
  if (!asks(t)) return one_or_all<size_object>(t.sizes(), dim);
  Dims sizes(t.sizes().begin(), t.sizes().end());
  return asked_dims(object_of(t), kAskSizes, "aten::sym_size", &sizes) ? one_or_all<size_object>(sizes, dim) : nullptr;
}

bool is_pinned(T t, std::optional<Device>) {
  return t.storage()->pinned;
}  // by whatever device: there is one allocator

bool is_compressed(const TensorImpl& t) { return is_sparse(t) && sparse_parts(t)->layout != Layout::sparse_coo; }

PyObject* strides_of(T t, std::optional<int64_t> dim) {
  CHECK(Kind::Runtime, !is_compressed(t), "Sparse CSR tensors do not have strides");
  if (!asks(t)) return one_or_all<tuple_of>(t.strides(), dim);
  Dims strides(t.strides().begin(), t.strides().end());
  return asked_dims(object_of(t), kAskStrides, "aten::sym_stride", &strides) ? one_or_all<tuple_of>(strides, dim)
                                                                             : nullptr;
}

PyObject* data_pointer(const TensorImpl& t) {
  if (is_sparse(t))
    return PyErr_Format(PyExc_RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage");
  return guarded([&] {
    own_data(*t.storage());  // whoever asks may write
    t.storage()->expose();
    return PyLong_FromVoidPtr(t.numel() ? t.address() : nullptr);
  });
}
PyObject* data_ptr_method(PyObject* self, PyObject*) {
  if (asks(*unwrap(self))) {  // whether there is anything to point to
    PyObject* count = asked_integer(self, kAskSizes, "aten::numel", unwrap(self)->numel());
    if (!count) return nullptr;
    Py_DECREF(count);
  }
  return data_pointer(*unwrap(self));
}
Storage& storage_of_dense(T t) {
  CHECK(Kind::NotImplemented, !is_sparse(t), "Cannot access storage of ",
      is_compressed(t) ? "SparseCsrTensorImpl" : "SparseTensorImpl");
  return *t.storage();
}
PyObject* numel_of(T t) {
  return asks(t) ? asked_integer(object_of(t), kAskSizes, "aten::sym_numel", t.numel()) : integer(t.numel());
}

PyObject* is_contiguous(T t, std::optional<MemoryFormat> given) {
  const MemoryFormat format = given.value_or(MemoryFormat::contiguous);
  CHECK(Kind::Runtime, !is_compressed(t), "Sparse CSR tensors do not have is_contiguous");
  return asks(t) ? asked_contiguous(object_of(t), format) : PyBool_FromLong(t.is_contiguous(format));
}

PyObject* hash_method(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(self); }

const TensorPart tensor_methods{{schema_method<&sizes_of, "size(Tensor self, int? dim=None)">(),
    schema_method<&strides_of, "stride(Tensor self, int? dim=None)">(),
    schema_method<&is_contiguous, "is_contiguous(Tensor self, *, MemoryFormat? memory_format=None)">(),
    method<dims_of_tensor>("dim"), method<dims_of_tensor>("ndimension"), method<numel_of>("numel"),
    method<numel_of>("nelement"), {"data_ptr", data_ptr_method, METH_NOARGS, nullptr},
    method<[](T t) { return t.storage_offset(); }>("storage_offset"),
    method<[](T t) { return int64_t(t.itemsize()); }>("element_size"),
    method<[](T t) { return int64_t(t.device().is_cpu() ? -1 : t.device().index); }>("get_device"),
    method<[](T t) { return is_floating(t.dtype()); }>("is_floating_point"),
    method<[](T t) { return is_complex(t.dtype()); }>("is_complex"),
    method<[](T t) { return is_signed(t.dtype()); }>("is_signed"),
    method<[](T t) { return t.is_inference; }>("is_inference"), method<[](T t) { return t.is_conj; }>("is_conj"),
    method<[](T t) { return t.is_neg; }>("is_neg"),
    method<[](T t) { return storage_of_dense(t).device().is_cuda(); }>("is_shared"),
    schema_method<&is_pinned, "is_pinned(Tensor self, Device? device=None)">(),
    method<[](T t) { return storage_object(Ref<Storage>(&storage_of_dense(t))); }>("untyped_storage"),
    {"__hash__", hash_method, METH_NOARGS, nullptr}}};

}  // namespace

}  // namespace shim
