#pragma once
// Operators called with sparse tensors among their arguments. Nothing of this is looked at before the first sparse tensor is.
#include "core/sparse.h"
#include "python/dispatch.h"

namespace shim {

extern bool sparse_seen;  // this process has made a sparse tensor

bool any_sparse(PyObject* const* args, size_t n);  // looks into lists and tuples
// What shim_torch.sparse answers for the operator; *done is false where the call goes on as with dense tensors.
PyObject* call_sparse(Operator&, PyObject** args, size_t n, bool* done);
int bind_sparse(PyObject* module);

}  // namespace shim
