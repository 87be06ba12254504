#pragma once
// Whose tensors functions of the module take.
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {

inline bool on_cpu(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cpu(); }
inline bool on_cuda(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cuda(); }

}  // namespace shim
