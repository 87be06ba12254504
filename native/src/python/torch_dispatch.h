#pragma once
// The __torch_dispatch__ protocol: modes and tensor subclasses that see operators below autograd.
#include "dispatch/call.h"
#include "dispatch/handlers.h"
#include "python/dispatch.h"

namespace shim {

bool dispatch_mode_active();                  // of this thread
bool has_dispatch_handler(PyObject* tensor);  // its class has one
// Whether a mode or the class of an argument (or of a list's item) wants to see a call.
bool wants_dispatch(PyObject* const* args, size_t n);
// The handlers' result, or null with an error.
PyObject* call_torch_dispatch(Operator&, PyObject* const* args, size_t n);
// What a tensor's class answers to "aten::sym_size" (with `argument`: to its overload memory_format); null without an error: nothing.
PyObject* ask_handler(PyObject* self, const char* name, PyObject* argument);
bool class_has_handler(PyTypeObject*);
void note_class(PyTypeObject*);  // of a tensor object that is made
void note_sparse();              // a sparse tensor is made

}  // namespace shim
