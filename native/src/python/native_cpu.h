#pragma once
// What the natives of CPU tensors share.
#include "python/native_values.h"

namespace shim {

inline bool on_cpu(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cpu(); }

}  // namespace shim
