#pragma once
// Kernels of torch.library that stand in for PyTorch's own operators.
#include "python/arguments.h"

namespace shim {

extern bool aten_kernels;  // one was registered for an operator of aten, once

// A composite of PyTorch's that is one operator here, one of whose parts has a kernel from Python: its parts run instead.
// Not where that would lose gradients. *done: they ran.
PyObject* run_as_parts(const Operator&, PyObject* const* args, size_t n, bool* done);

}  // namespace shim
