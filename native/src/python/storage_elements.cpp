// The bytes of a storage as Python sees them: indexing, assignment, lists.
#include "ops/storage_copy.h"
#include "python/storage.h"

namespace shim {

PyObject* storage_bytes(Storage& s) {
  CHECK(Kind::Runtime, !without_memory(s),
      "The tensor has a non-zero number of elements, but its data is not allocated yet.");
  const Ref<Storage> host = storage_on(s, Device{});
  return PyBytes_FromStringAndSize(s.nbytes() ? static_cast<const char*>(host->data()) : "", Py_ssize_t(s.nbytes()));
}

PyObject* storage_tolist(Storage& s) { return PySequence_List(owned(storage_bytes(s))); }

PyObject* storage_subscript(PyObject* o, PyObject* key) {
  return guarded([&]() -> PyObject* {
    OwnedRef found = owned(PyObject_GetItem(owned(storage_bytes(*storage_in(o))), key));
    return PySlice_Check(key) ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(StorageType), found) : found.give();
  });
}

int storage_assign(PyObject* o, PyObject* key, PyObject* value) {
  Storage* s = storage_in(o);
  Py_ssize_t start, stop, step = 1;
  if (PySlice_Check(key)) {
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return -1;
    if (step != 1)
      return PyErr_Format(
                 PyExc_RuntimeError, "Trying to slice with a step of %zd, but only a step of 1 is supported", step),
             -1;
    PySlice_AdjustIndices(Py_ssize_t(s->nbytes()), &start, &stop, step);
  } else {
    if (PyBool_Check(key) || PySequence_Check(key) || !PyIndex_Check(key))  // NumPy's integers are places too
      return PyErr_Format(PyExc_RuntimeError, "can't index a torch.UntypedStorage with %s", Py_TYPE(key)->tp_name), -1;
    start = PyNumber_AsSsize_t(key, nullptr);  // what is no Py_ssize_t: the least or the greatest
    if (start == -1 && PyErr_Occurred()) return -1;
    if (start < 0 || start >= Py_ssize_t(s->nbytes()))  // from the end, PyTorch does not write
      return PyErr_SetString(PyExc_RuntimeError, "out of bounds"), -1;
    stop = start + 1;
  }
  if (!PyLong_Check(value))
    return PyErr_Format(PyExc_RuntimeError, "can only set storage content with a int types, but got %s instead",
               Py_TYPE(value)->tp_name),
           -1;
  const long v = PyLong_AsLong(value);
  if (v == -1 && PyErr_Occurred()) return -1;
  return assigned([&] { fill_bytes(*s, start, stop, uint8_t(v)); });
}

}  // namespace shim
