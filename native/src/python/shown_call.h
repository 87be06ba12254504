#pragma once
// Calls as PyTorch shows them to __torch_dispatch__ and to the kernels of torch.library.
#include <string>

#include "python/arguments.h"

namespace shim {

// x > 0 is gt.Scalar in PyTorch, which has overloads of their own for numbers; only arithmetic takes numbers for tensors.
std::string shown_overload(const Operator&, PyObject* const* args, size_t n);

// Positional arguments up to the last that is no default, and the keyword-only ones that are none, as new references
// (also where it fails: false, with an error). Lists of numbers are lists.
bool shown_arguments(const Operator&, PyObject* const* args, size_t n, PyObject** positional, PyObject** keywords);

}  // namespace shim
