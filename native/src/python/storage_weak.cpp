// Weak references to storages: a number, the address of a WeakStorage, stands for one.
#include "core/weak_storage.h"
#include "python/storage.h"
#include "python/tensor_type.h"

namespace shim {

PyObject* storage_weak_ref(PyObject* self, PyObject*) {
  Storage* s = storage_in(self);
  if (s->device().is_cuda())
    return PyErr_Format(
        PyExc_NotImplementedError, "torch.UntypedStorage._weak_ref is not supported by shim-torch for memory of a GPU");
  return PyLong_FromVoidPtr(WeakStorage::of(*s));
}

namespace {

WeakStorage* weak_given(PyObject* number) { return static_cast<WeakStorage*>(PyLong_AsVoidPtr(number)); }

}  // namespace

PyObject* storage_weak_expired(PyObject*, PyObject* number) {
  const WeakStorage* weak = weak_given(number);
  return weak ? PyBool_FromLong(weak->storage() == nullptr) : nullptr;
}

PyObject* storage_weak_drop(PyObject*, PyObject* number) {
  WeakStorage* weak = weak_given(number);
  if (!weak) return nullptr;
  weak->drop();
  Py_RETURN_NONE;
}

PyObject* storage_from_weak(PyObject*, PyObject* number) {  // the storage, None once it is gone
  WeakStorage* weak = weak_given(number);
  if (!weak) return nullptr;
  return weak->storage() ? storage_object(Ref<Storage>(weak->storage())) : Py_NewRef(Py_None);
}

}  // namespace shim
