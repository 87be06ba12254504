#pragma once
// Calls as PyTorch shows them to __torch_dispatch__ and to the kernels of torch.library.
#include "python/arguments.h"

namespace shim {

// Positional arguments up to the last that is no default, and the keyword-only ones that are none, as new references
// (also where it fails: false, with an error). Lists of numbers are lists.
bool shown_arguments(const Operator&, PyObject* const* args, size_t n, PyObject** positional, PyObject** keywords);

}  // namespace shim
