// Tensor.set_ and resize_: another storage or other sizes for a tensor that is there.
#include "autograd/attributes.h"
#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/schema_function.h"
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

using OptionalDims = std::optional<IntArrayRef>;

Tensor set(TensorImpl& t, std::optional<PyObject*> source, int64_t offset, OptionalDims size, OptionalDims stride) {
  const TensorImpl* like = source && is_tensor(*source) ? unwrap(*source) : nullptr;
  CHECK(Kind::Runtime, !is_sparse(t) && !(like && is_sparse(*like)), "set_: sparse tensors have no storage to set");
  Ref<Storage> storage;
  Dims sizes{0}, strides{1};
  if (like) {
    CHECK(Kind::Runtime, like->dtype() == t.dtype(), "Could not set tensor of type ", dtype_name(like->dtype()),
        " to a tensor of type ", dtype_name(t.dtype()));
    sizes.assign(like->sizes().begin(), like->sizes().end());
    strides.assign(like->strides().begin(), like->strides().end());
    if (!size) offset = like->storage_offset();
    storage = like->storage();
  } else if (source) {
    storage = storage_of(*source);
    CHECK(Kind::Type, storage, "set_(): argument 'source' must be Tensor or Storage, not ", Py_TYPE(*source)->tp_name);
    check_storage_dtype(*source, t.dtype());
    sizes = {int64_t(storage->nbytes() / t.itemsize())};
  } else {
    storage = allocate(0, t.device());
  }
  if (size) {
    sizes.assign(size->begin(), size->end());
    strides = contiguous_strides(sizes);
  }
  if (stride) strides.assign(stride->begin(), stride->end());
  set_memory(t, storage, sizes, strides, offset);
  return Tensor(&t);
}

PyObject* resize(TensorImpl& t, IntArrayRef sizes, std::optional<MemoryFormat> format) {
  const OwnedRef self = owned(wrap(Tensor(&t)));
  if (is_sparse(t)) return PyObject_CallMethod(self, "_resize_sparse_", "N", size_object(sizes));
  const size_t had = t.storage()->nbytes();
  resize_memory(t, sizes, format);
  if (fill_uninitialized && t.storage()->nbytes() > had)
    owned(PyObject_CallMethod(self, "_fill_grown", "n", Py_ssize_t(had)));
  return Py_NewRef(self.o);
}

const TensorPart set_methods{
    {schema_method<&set,
         "set_(Tensor self, Any? source=None, int storage_offset=0, int[]? size=None, int[]? stride=None)">(),
        schema_method<&resize, "resize_(Tensor self, int[] size, *, MemoryFormat? memory_format=None)">()}};

}  // namespace

}  // namespace shim
