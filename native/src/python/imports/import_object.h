#pragma once
#include <Python.h>

namespace imports {

PyObject* import_type();  // of callables that stand as __import__ in builtins of code in scope; a new reference

}  // namespace imports
