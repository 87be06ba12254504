#pragma once
// Between the files that make up torch.Tensor's Python side.
#include "python/object.h"

namespace shim {

extern PyObject* out_of_memory_type;      // torch.OutOfMemoryError, set from Python
extern PyObject* accelerator_error_type;  // torch.AcceleratorError, likewise
int add_tensor_parts();
bool dims_of(PyObject* o, Dims* out);  // a sequence of int (or one int); false with a Python error set
Ref<Storage> storage_of(PyObject*);    // null if it is none

}  // namespace shim
