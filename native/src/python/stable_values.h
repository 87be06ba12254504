#pragma once
// Compiled kernels of the stable C ABI as Python calls them, and its calls of operators. Everything here needs the GIL.
#include "abi/abi.h"
#include "python/object.h"

namespace shim {

// Takes over what the cell owns, also when it fails. A new reference, as bound arguments are: tuples for lists of numbers, lists for
// lists of tensors.
PyObject* object_from(abi::Cell, const ArgType&);
// Calls a compiled kernel with bound arguments, the GIL released. A new reference; null with a Python error set.
PyObject* call_stable(const Schema&, abi::Kernel, PyObject* const* args, size_t n);

bool raise_interrupt();  // sets again a KeyboardInterrupt that one of our operators met inside of the thread's kernel

extern PyTypeObject* StableKernelType;  // what the operator table holds for a compiled kernel
PyObject* stable_kernel(abi::Kernel, const std::string& qualified, const std::string& overload);  // new reference
abi::Kernel kernel_of(PyObject*);                                                                 // of a StableKernel
void take_over_libraries();  // what libraries registered since the last look enters the operator table
int make_stable_kernel_type();

}  // namespace shim
