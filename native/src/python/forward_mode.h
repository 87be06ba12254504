#pragma once
#include "autograd/forward_mode.h"
#include "python/object.h"

namespace shim {

int bind_forward_mode(PyObject* module);

}  // namespace shim
