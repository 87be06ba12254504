#pragma once
// Between the files of the small immutable types: torch.dtype, device, Size, layout and memory_format.
#include "python/object.h"

namespace shim {

// Makes a type and puts it into the module; null with an error set.
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject* base = nullptr);
PyObject* size_of_tuple(PyObject* tuple);  // a torch.Size of a tuple's items, which it steals
extern PyObject* rebuild_named;            // what pickles of these types call: torch._rebuild, with a name or a tuple
int bind_device(PyObject* module);         // bind_device.cpp
int bind_size(PyObject* module);           // bind_size.cpp

}  // namespace shim
