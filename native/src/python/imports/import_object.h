#pragma once
#include <Python.h>

namespace imports {

// The type of callables that stand as __import__ in builtins of code in scope.
PyObject* import_type();

}  // namespace imports
