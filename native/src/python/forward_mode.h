#pragma once
#include "autograd/forward_mode.h"
#include "python/tensors_in.h"

namespace shim {

inline bool any_tangent(PyObject* const* args, size_t n) {  // looks into tuples and lists
  return any_tensor(args, n, [](TensorImpl& t) { return bool(tangent_of(t)); });
}
int bind_forward_mode(PyObject* module);

}  // namespace shim
