#pragma once
#include "python/object.h"

namespace shim {

int bind_sparse(PyObject* module);

}  // namespace shim
