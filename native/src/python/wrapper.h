#pragma once
// Tensors of subclasses, and the questions that their __torch_dispatch__ answers in place of the tensor.
#include "core/without_memory.h"
#include "python/object.h"

namespace shim {

PyTypeObject* subclass_of_tensor(PyObject* cls, Kind error);  // throws where it is none

// Each gives the handler's answer, or what the tensor itself has where the handler has none; null (false) with an error.
PyObject* asked_object(PyObject* self, uint8_t what, const char* name, PyObject* own);  // takes `own`
PyObject* asked_integer(PyObject* self, uint8_t what, const char* name, int64_t own);
PyObject* asked_dim(PyObject* self);  // has to be answered
PyObject* asked_device(PyObject* self);
PyObject* asked_size(PyObject* self);
PyObject* asked_contiguous(PyObject* self, MemoryFormat);
bool asked_dims(PyObject* self, uint8_t what, const char* name, Dims* own);

}  // namespace shim
