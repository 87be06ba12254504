#pragma once
// What a call does for torch.func.vmap: its tensors hide a batch dim, and autograd records on them.
#include "dispatch/call.h"
#include "python/arguments.h"

namespace shim {

extern PyTypeObject* batched_class;  // the class of vmap's tensors, once vmap was used
bool any_batched(PyObject* const* args, size_t n);
// Arguments that need gradients and are the same for a whole batch become part of it, so that their gradients are summed
// over it: whether that was so, and the call was made with them.
bool call_batched(Operator&, Value* args, size_t n, Result&);
// autograd.Function over a batch.
PyObject* apply_batched(PyObject* cls, PyObject* const* args, size_t n);

// With the error set where a function under a transform asks for gradients of its own: `method` of Tensor.
bool refuse_under_transforms(const char* method);

}  // namespace shim
