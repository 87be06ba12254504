#pragma once
// _core.Mersenne: the state of a CPU torch.Generator.
#include "cpu/mersenne.h"
#include "python/object.h"

namespace shim {

Mersenne* mersenne_of(PyObject*);  // null for any other object
int bind_mersenne(PyObject* module);

}  // namespace shim
