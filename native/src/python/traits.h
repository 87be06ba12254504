#pragma once
#include <Python.h>

#include "ops/traits.h"

namespace shim {

// Of an out= of another dtype; {r} and {o} are explained in out_dtype.cpp.
inline constexpr const char* kStructuredOut = "Expected out tensor to have dtype {r}, but got {o} instead";

// What the options of a record say; never freed. Those that only Python reads are left out.
const Traits* read_traits(PyObject* options);

}  // namespace shim
