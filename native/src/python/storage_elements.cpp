// The bytes of a storage as Python sees them: indexing, assignment, lists.
#include <cstring>

#include "core/lazy_clone.h"
#include "ops/kernels.h"
#include "python/storage.h"

namespace shim {

namespace {

constexpr const char* kNoData = "The tensor has a non-zero number of elements, but its data is not allocated yet.";

}  // namespace

PyObject* storage_bytes(PyObject* o) {
  Storage* s = storage_in(o);
  if (without_memory(*s)) return PyErr_SetString(PyExc_RuntimeError, kNoData), nullptr;
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, Py_ssize_t(s->nbytes()));
  if (!bytes || !s->nbytes()) return bytes;
  PyObject* host = storage_on_cpu(o, nullptr);
  if (!host) {
    Py_DECREF(bytes);
    return nullptr;
  }
  if (s->nbytes()) std::memcpy(PyBytes_AS_STRING(bytes), storage_in(host)->data(), s->nbytes());
  Py_DECREF(host);
  return bytes;
}

PyObject* storage_tolist(PyObject* o, PyObject*) {
  PyObject* bytes = storage_bytes(o);
  PyObject* list = bytes ? PySequence_List(bytes) : nullptr;
  Py_XDECREF(bytes);
  return list;
}

PyObject* storage_subscript(PyObject* o, PyObject* key) {
  PyObject* bytes = storage_bytes(o);
  PyObject* r = bytes ? PyObject_GetItem(bytes, key) : nullptr;
  Py_XDECREF(bytes);
  if (!r || !PySlice_Check(key)) return r;
  PyObject* s = PyObject_CallOneArg(reinterpret_cast<PyObject*>(StorageType), r);
  Py_DECREF(r);
  return s;
}

int storage_assign(PyObject* o, PyObject* key, PyObject* value) {
  Storage* s = storage_in(o);
  own_data(*s);
  Py_ssize_t start, stop, step;
  if (PySlice_Check(key)) {
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return -1;
    PySlice_AdjustIndices(Py_ssize_t(s->nbytes()), &start, &stop, step);
  } else {
    start = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (start == -1 && PyErr_Occurred()) return -1;
    if (start < 0) start += Py_ssize_t(s->nbytes());
    if (start < 0 || start >= Py_ssize_t(s->nbytes()))
      return PyErr_SetString(PyExc_IndexError, "index out of range"), -1;
    stop = start + 1;
    step = 1;
  }
  long v = PyLong_AsLong(value);
  if (v == -1 && PyErr_Occurred()) return -1;
  if (!s->device().is_cpu())
    return PyErr_SetString(PyExc_NotImplementedError,
               "torch.UntypedStorage: assignment to bytes of a CUDA storage is not supported"),
           -1;
  if (without_memory(*s)) return PyErr_SetString(PyExc_RuntimeError, kNoData), -1;
  for (Py_ssize_t i = start; i < stop; i += step) static_cast<uint8_t*>(s->data())[i] = uint8_t(v);
  return 0;
}

}  // namespace shim
