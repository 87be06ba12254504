#pragma once
// What the natives of CUDA tensors share.
#include "python/native_values.h"

namespace shim {

inline bool on_cuda(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cuda(); }

}  // namespace shim
