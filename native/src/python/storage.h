#pragma once
// Between the files of torch.UntypedStorage.
#include "python/module_parameters.h"
#include "python/object_methods.h"

namespace shim {

struct PyStorage {
  PyObject_HEAD Storage* storage;  // owned
  PyObject* dict;                  // lazily made
  PyObject* weakrefs;
};
inline Storage* storage_in(PyObject* o) { return reinterpret_cast<PyStorage*>(o)->storage; }

extern PyTypeObject *StorageType, *StorageBaseType;

// Elements (storage_elements.cpp).
PyObject* storage_bytes(Storage&);  // as bytes
PyObject* storage_tolist(Storage&);
PyObject* storage_subscript(PyObject* storage, PyObject* key);
int storage_assign(PyObject* storage, PyObject* key, PyObject* value);

namespace module_call {

template <> struct Argument<Storage&> {
  bool take(PyObject* o, FromObjects& r) {
    storage_ = PyObject_TypeCheck(o, StorageBaseType) ? storage_in(o) : nullptr;
    return storage_ || (r.why = "no storage", false);
  }
  Storage& value() const { return *storage_; }

 private:
  Storage* storage_ = nullptr;
};

}  // namespace module_call
}  // namespace shim
