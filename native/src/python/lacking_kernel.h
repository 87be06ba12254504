#pragma once
// A kernel that lacks a dtype, where the result was to be written to a given tensor: PyTorch looks at that tensor first.
#include "ops/operator.h"
#include "python/object.h"

namespace shim {

// After a Python error: throws the one about the shape (in place) or dtype of `target` that PyTorch finds before it looks for a kernel.
void check_before_kernel(const Operator& f, PyObject* const* args, size_t n, const TensorImpl& target, bool in_place);

}  // namespace shim
