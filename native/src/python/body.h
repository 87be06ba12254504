#pragma once
// Between the files that run records' bodies over NumPy arrays.
#include "python/object.h"

namespace shim {

PyObject* array_of(TensorImpl* t);  // bind_numpy.cpp: an array over the tensor's memory
PyObject* tensor_over(
    PyObject* array, IntArrayRef sizes, DType);  // a tensor over a contiguous array's memory, its own to resize
DType dtype_of_array(PyObject* array);           // undefined: a dtype that tensors do not have
PyObject* aligned_handler();                     // bind_run.cpp: NumPy's memory handler that aligns to 64 bytes
int bind_body(PyObject* module);                 // bind_body.cpp

}  // namespace shim
