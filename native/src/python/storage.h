#pragma once
// Between the files of torch.UntypedStorage.
#include "python/object.h"

namespace shim {

struct PyStorage {
  PyObject_HEAD Storage* storage;  // owned
  PyObject* dict;                  // lazily made
  PyObject* weakrefs;
};
inline Storage* storage_in(PyObject* o) { return reinterpret_cast<PyStorage*>(o)->storage; }

extern PyTypeObject* StorageType;
inline bool without_memory(const Storage& s) { return s.nbytes() && !s.data(); }  // bytes that nobody has allocated
PyObject* storage_on_cpu(PyObject* storage, PyObject*);                           // itself where it is there

// Elements (storage_elements.cpp).
PyObject* storage_bytes(PyObject* storage);  // as bytes
PyObject* storage_tolist(PyObject* storage, PyObject*);
PyObject* storage_subscript(PyObject* storage, PyObject* key);
int storage_assign(PyObject* storage, PyObject* key, PyObject* value);

// Weak references (storage_weak.cpp): a number stands for one.
PyObject* storage_weak_ref(PyObject* storage, PyObject*);
PyObject* storage_weak_expired(PyObject*, PyObject* number);
PyObject* storage_weak_drop(PyObject*, PyObject* number);
PyObject* storage_from_weak(PyObject*, PyObject* number);  // the storage, None once it is gone

}  // namespace shim
