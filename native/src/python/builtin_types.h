#pragma once
// Between the files of the small immutable types: torch.dtype, device, Size, layout and memory_format.
#include "python/object.h"

namespace shim {

PyObject* size_of_tuple(PyObject* tuple);  // a torch.Size of a tuple's items, which it steals
extern PyObject* rebuild_named;            // what pickles of these types call: torch._rebuild, with a name or a tuple
int bind_device(PyObject* module);         // bind_device.cpp
int bind_size(PyObject* module);           // bind_size.cpp

}  // namespace shim
