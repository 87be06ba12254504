#pragma once
// The code of loaded libraries (abi/library_code.h) as Python's objects. Everything here needs the GIL.
#include "abi/library_code.h"
#include "python/held_type.h"

namespace shim {

// What it gives for values, a new reference; throws.
PyObject* call_code(LibraryCode&, const Schema*, const Value* args, size_t n);

}  // namespace shim
