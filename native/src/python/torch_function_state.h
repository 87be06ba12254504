#pragma once
// Between the files of the __torch_function__ protocol.
#include <string>
#include <vector>

#include "python/dispatch.h"
#include "python/protocol.h"

namespace shim::torch_function {

extern thread_local constinit bool subclasses_disabled;
extern Protocol protocol;
std::vector<PyObject*>& modes();  // of this thread, the innermost last; owned
void collect(
    PyObject*, std::vector<PyObject*>& found);  // overloaded arguments, subclasses before their bases, each type once
// Asks the mode, then the arguments that were found; NotImplemented of all is a TypeError.
PyObject* dispatch(PyObject* callable, const std::vector<PyObject*>& found, PyObject* args, PyObject* kwargs);
std::string text_of(PyObject*, const char* attribute);
std::string public_name(PyObject* callable);  // "torch.add"
PyObject* disabled_function(
    PyObject*, PyObject* args);  // (func, types, args, kwargs=None), without subclasses' overrides
int add_default_function();      // TensorBase.__torch_function__ and as_subclass

}  // namespace shim::torch_function
