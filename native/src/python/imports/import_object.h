#pragma once
#include <Python.h>

namespace imports {

// Whether a module is PyTorch's by its absolute name.
bool is_torch(const char* name);

// The type of callables that stand as __import__ in builtins of code in scope.
PyObject* import_type();

}  // namespace imports
