#pragma once
// Tensor's attributes and methods, as __torch_function__ sees them.
#include "python/object.h"

#include <structmember.h>

namespace shim {

bool has_torch_function(PyObject*);             // torch_function.cpp
PyObject* overridable_method(PyMethodDef*);     // a method descriptor; new reference
PyObject* overridable_attribute(PyGetSetDef*);  // an attribute descriptor; new reference
int bind_override(PyObject* module);

}  // namespace shim
