#pragma once
// What natives read of their arguments, on whatever device.
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {

inline Tensor tensor_or_none(PyObject* o) { return o == Py_None ? Tensor{} : Tensor(unwrap(o)); }

// Whether what is made of the arguments is differentiable.
inline bool history(PyObject* const* args, size_t n) { return GradMode::enabled() && any_requires_grad(args, n); }

inline PyObject* wrapped(const Tensor& t) { return t ? wrap(t) : nullptr; }  // null: not a native's

}  // namespace shim
