#pragma once
// Tangents of tensors (torch.autograd.forward_ad).
#include <functional>

#include "python/object.h"

namespace shim {

Tensor tangent_of(const TensorImpl&);  // null: none, or of a level that is closed
uint64_t& forward_level();             // which level is open; 0: none
void set_tangent(const Tensor&, Tensor tangent);
// The tangent of a tensor just written to becomes `value` (null: zeros, where there is one), in its own memory where it has
// some, and for a view in its base's.
void write_tangent(const Tensor&, const Tensor& value);
// A view's results get the same views of the tangent; false where the tangent does not lie as the tensor does.
bool view_of_tangent(const TensorImpl& self, PyObject* result, const std::function<PyObject*(PyObject*)>& view);
bool any_tangent(PyObject* const* args, size_t n);  // looks into tuples and lists
// Runs an operator on stand-ins for the arguments and gives its results their tangents.
PyObject* run_with_tangents(PyObject* const* args, size_t n, const std::function<PyObject*(PyObject**, size_t)>& run);
int bind_forward_mode(PyObject* module);

}  // namespace shim
